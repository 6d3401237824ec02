// Starts a server in a session of its own, as agents' shells do, and says its pid; the server outlives the agent's group.
import { spawn } from 'node:child_process';

import { say, serve } from './acp-base.mjs';

serve({
  'session/prompt': ({ sessionId }) => {
    const child = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], {
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.unref();
    say(sessionId, `server ${child.pid}`);
    return { stopReason: 'end_turn' };
  },
});
