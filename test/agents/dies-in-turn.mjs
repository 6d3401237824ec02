// Says something in its turn and dies in the middle of a frame.
import { writeSync } from 'node:fs';

import { say, serve } from './acp-base.mjs';

serve({
  'session/prompt': ({ sessionId }) => {
    say(sessionId, 'so far');
    writeSync(1, '{"jsonrpc":"2.0","method":"session/upda');
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => {});
  },
});
