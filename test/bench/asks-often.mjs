// An author for the bench: opens its tools, asks whether to begin and rests, its turn ended with the question open. Once answered, it
// asks so many times as its last argument says, at short distances and without waiting for answers. Each question says when it was
// asked (nanoseconds of the machine's monotonic clock), so that whoever hears of it knows how long that took. With 0 it works on
// for good instead.
import { setTimeout as sleep } from 'node:timers/promises';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const questions = Number(process.argv.at(-1));

runScripted(async (turn) => {
  await turn.call('report_status', { text: 'Ready to ask.' });
  if (questions === 0 || turn.memory.hasAsked) await new Promise(() => {});
  turn.memory.hasAsked = true;
  void ask(turn);
  await sleep(300); // the question is on its way
});

async function ask(turn) {
  let answer = await turn.call('ask_human', { text: 'Shall I begin?' });
  while (answer.startsWith('NO ANSWER YET')) answer = await turn.call('wait_answer');
  await sleep(Math.random() * 10_000);
  for (let n = 0; n < questions; n += 1) {
    await sleep(1_000 + Math.random() * 2_000);
    void turn.call('ask_human', { text: `asked at ${process.hrtime.bigint()}` }).catch(() => {});
  }
}
