// Says one message of 12 MB, and how long the prompt was that it heard.
import { say, serve, textOf } from './acp-base.mjs';

serve({
  'session/prompt': ({ sessionId, ...params }) => {
    say(sessionId, `prompt of ${textOf(params).length}`);
    say(sessionId, 'ü'.repeat(6 * 1024 * 1024));
    return { stopReason: 'end_turn' };
  },
});
