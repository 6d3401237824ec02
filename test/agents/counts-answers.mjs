// Asks one question in a turn and, a moment after the first answer, tells how many answers came, how long the first was and
// how many lines of its stdin were no JSON.
import { ask, say, serve } from './acp-base.mjs';

let answers = 0;
let tornLines = 0;

serve(
  {
    'session/prompt': async ({ sessionId }) => {
      const answer = await ask('elicitation/create', {
        sessionId,
        mode: 'form',
        message: 'What?',
        requestedSchema: { type: 'object', properties: { text: { type: 'string' } } },
      });
      await new Promise((resolve) => setTimeout(resolve, 150));
      say(sessionId, JSON.stringify({ pid: process.pid, answers, tornLines, length: answer.content?.text.length }));
      return { stopReason: 'end_turn' };
    },
  },
  { onAnswer: () => (answers += 1), onTornLine: () => (tornLines += 1) },
);
