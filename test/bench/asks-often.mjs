// An author for the bench: opens its tools, then asks at short distances without waiting for answers, and works on for good.
// Each question says when it was asked (nanoseconds of the machine's monotonic clock), so that whoever hears of it knows how
// long that took. Last argument: the number of questions.
import { setTimeout as sleep } from 'node:timers/promises';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const questions = Number(process.argv.at(-1));

runScripted(async (turn) => {
  await turn.call('report_status', { text: 'Ready to ask.' });
  for (let n = 0; n < questions; n += 1) {
    await sleep(200 + Math.random() * 200);
    void turn.call('ask_human', { text: `asked at ${process.hrtime.bigint()}` }).catch(() => {});
  }
  await new Promise(() => {});
});
