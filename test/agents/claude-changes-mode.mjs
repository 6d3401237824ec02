// Headless Claude Code that says at the start of its turn that it asks for nothing any more.
import { init, replay, result, serve } from './claude-base.mjs';

serve((prompt) => {
  init({ permissionMode: 'bypassPermissions' });
  replay(prompt);
  result(prompt);
});
