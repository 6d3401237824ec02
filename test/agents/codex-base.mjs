// A small `codex exec --json` for tests: one process for a prompt that stands on stdin to its end, events as lines.
import { readFileSync } from 'node:fs';

if (process.argv.includes('--version')) {
  console.log('codex-cli 9.9.9 "fake"');
  process.exit(0);
}

export const flags = process.argv.slice(2);
const resumed = flags[flags.indexOf('resume') + 1 || flags.length];
export const thread = resumed ?? `thread-${process.pid}`;
export const prompt = readFileSync(0, 'utf8');

export function send(event) {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

export function begin() {
  send({ type: 'thread.started', thread_id: thread });
  send({ type: 'turn.started' });
}

export function say(text) {
  send({ type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text } });
}

export function complete(turns = 1) {
  const usage = { input_tokens: 100 * turns, cached_input_tokens: 40 * turns, output_tokens: 7 * turns };
  send({ type: 'turn.completed', usage });
}
