// Asks one permission in each turn and says its pid and what was chosen.
import { askPermission, say, serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const { outcome } = await askPermission(sessionId);
    say(sessionId, `${process.pid}: ${outcome.optionId ?? outcome.outcome}`);
    return { stopReason: outcome.outcome === 'cancelled' ? 'cancelled' : 'end_turn' };
  },
});
