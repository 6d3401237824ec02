// Calls fs/write_text_file though no such capability was declared, as OpenCode does, and says what it got.
import { ask, say, serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const answer = await ask('fs/write_text_file', { sessionId, path: '/tmp/never', content: 'x' });
    say(sessionId, `got ${answer.error?.code}`);
    return { stopReason: 'end_turn' };
  },
});
