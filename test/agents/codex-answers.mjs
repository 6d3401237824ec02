// codex exec that runs a command and answers with its words, its thread and its arguments.
import { begin, complete, flags, prompt, say, send, thread } from './codex-base.mjs';

begin();
const item = {
  id: 'item_0',
  type: 'command_execution',
  command: 'echo hi',
  aggregated_output: '',
  status: 'in_progress',
};
send({ type: 'item.started', item });
send({ type: 'item.completed', item: { ...item, aggregated_output: 'hi\n', exit_code: 0, status: 'completed' } });
say(prompt === 'arguments' ? JSON.stringify(flags) : `${thread} heard: ${prompt}`);
complete();
