// Headless Claude Code that answers each prompt with its words and the arguments it was started with.
import { init, replay, result, say, serve, textOf } from './claude-base.mjs';

serve((prompt) => {
  init();
  replay(prompt);
  say(textOf(prompt) === 'arguments' ? JSON.stringify(process.argv.slice(2)) : `heard: ${textOf(prompt)}`);
  result(prompt);
});
