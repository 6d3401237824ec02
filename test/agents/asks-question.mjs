// Asks one question by elicitation in each turn and says the answer.
import { ask, say, serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const answer = await ask('elicitation/create', {
      sessionId,
      mode: 'form',
      message: 'Which rounding?',
      requestedSchema: { type: 'object', properties: { rounding: { type: 'string' } }, required: ['rounding'] },
    });
    say(sessionId, `${answer.action}: ${JSON.stringify(answer.content ?? null)}`);
    return { stopReason: 'end_turn' };
  },
});
