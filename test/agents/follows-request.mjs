// An author that does what stands in its request: a line `steps: [...]` for the first turn, a line `feedback: [...]` for
// each later one. A step is a list: its name, then its arguments. What was asked last replaces `{answer}` in texts.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const kept = join(process.env.HOME ?? '.', 'steps.json');
let answer = '';

const does = {
  write: (turn, path, text) => turn.write(path, text.replaceAll('{answer}', answer).replaceAll('{pid}', process.pid)),
  remove: (turn, path) => rmSync(join(turn.cwd, path), { recursive: true }),
  run: (turn, ...command) => turn.run(...command),
  commit: (turn, message) => turn.commit(message),
  say: (turn, text) => turn.say(text),
  ask: async (turn, text) => {
    answer = (await turn.call('ask_human', { text })).replace(/^ANSWER: /, '');
  },
  mayRun: async (turn, command) => {
    answer = (await turn.mayRun(command)) ? 'allowed' : 'refused';
  },
  call: async (turn, tool, args) => {
    answer = await turn.call(tool, args).catch((error) => `refused: ${error.message}`);
  },
  done: (turn, summary = 'done') => turn.call('report_done', { summary }),
  hang: () => new Promise(() => {}),
  die: (_turn, code = 1) => process.exit(code),
};

runScripted(async (turn) => {
  const told = { steps: lineOf(turn.text, 'steps'), feedback: lineOf(turn.text, 'feedback') };
  if (told.steps) {
    mkdirSync(process.env.HOME, { recursive: true });
    writeFileSync(kept, JSON.stringify(told));
  }
  const known = JSON.parse(readFileSync(kept, 'utf8'));
  const isFirst = told.steps !== undefined && !turn.text.includes('Earlier work stands on this branch');
  for (const [name, ...args] of (isFirst ? known.steps : known.feedback) ?? []) await does[name](turn, ...args);
});

function lineOf(text, name) {
  const line = text.split('\n').find((one) => one.startsWith(`${name}: `));
  return line === undefined ? undefined : JSON.parse(line.slice(name.length + 2));
}
