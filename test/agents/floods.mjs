// Says 3,000 numbered pieces of 10 kB as fast as it can, then ends its turn.
import { say, serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const filler = 'é'.repeat(5_000);
    for (let piece = 0; piece < 3_000; piece += 1) {
      say(sessionId, `${piece} ${filler}`);
      if (process.stdout.writableNeedDrain) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
    return { stopReason: 'end_turn' };
  },
});
