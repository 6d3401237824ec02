// Headless Claude Code of an older version (results name no prompt) that ends a turn of its own, begun by a background task,
// after it has read a prompt and before it takes it up.
import { init, replay, result, say, serve } from './claude-base.mjs';

serve((prompt) => {
  init();
  say('the background task is done; ');
  result(undefined);
  setTimeout(() => {
    init();
    replay(prompt);
    say('and this is your answer');
    result(undefined);
  }, 100);
});
