// Headless Claude Code that asks for leave to run a command in each turn and says its pid and the answer; ends on interrupt.
import { aborted, askTool, init, replay, result, say, serve } from './claude-base.mjs';

serve(async (prompt) => {
  init();
  replay(prompt);
  const answer = await askTool('Bash', { command: 'make test', description: 'Run the tests' });
  if (!answer || answer.interrupt) return result(prompt, aborted);
  say(`${process.pid}: ${answer.behavior} ${JSON.stringify(answer.updatedInput ?? answer.message)}`);
  return result(prompt);
});
