// Asks one permission and counts the answers to it: the first ends the turn, which tells the length of the chosen id; a
// second answer, or a line that is not JSON, is told as an error on stderr and by exit code 9.
import { askPermission, say, serve } from './acp-base.mjs';

let answers = 0;
serve(
  {
    'session/prompt': async ({ sessionId }) => {
      const { outcome } = await askPermission(sessionId);
      setTimeout(() => say(sessionId, `answers: ${answers}`), 300);
      return { stopReason: outcome.outcome === 'selected' ? 'end_turn' : 'cancelled' };
    },
  },
  { onAnswer: () => (answers += 1) },
);
