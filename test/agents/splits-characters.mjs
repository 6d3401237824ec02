// Writes each byte of a message by itself, so that every character of more than one byte is torn.
import { serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const content = { type: 'text', text: 'naïve — 日本語 🦊' };
    const frame = {
      jsonrpc: '2.0',
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } },
    };
    for (const byte of Buffer.from(`${JSON.stringify(frame)}\n`)) {
      await new Promise((resolve) => process.stdout.write(Buffer.of(byte), resolve));
      await new Promise(setImmediate);
    }
    return { stopReason: 'end_turn' };
  },
});
