// Headless Claude Code that resumes in another folder than it was started in.
import { init, replay, result, serve } from './claude-base.mjs';

serve((prompt) => {
  init({ cwd: '/somewhere/else' });
  replay(prompt);
  result(prompt);
});
