// Mixes a banner, an empty line, a JSON array and a warning into its frames.
import { say, serve } from './acp-base.mjs';

process.stdout.write('Starting… (update available)\n\n[1,2]\n');
serve({
  'session/prompt': ({ sessionId }) => {
    process.stdout.write('(node:1) Warning: something\n');
    say(sessionId, 'still here');
    return { stopReason: 'end_turn' };
  },
});
