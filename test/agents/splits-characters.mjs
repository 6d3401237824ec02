// Writes each byte of a message by itself, so that every character of more than one byte is torn.
import { writeSync } from 'node:fs';

import { serve } from './acp-base.mjs';

serve({
  'session/prompt': ({ sessionId }) => {
    const content = { type: 'text', text: 'naïve — 日本語 🦊' };
    const update = { sessionUpdate: 'agent_message_chunk', content };
    const frame = { jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } };
    for (const byte of Buffer.from(`${JSON.stringify(frame)}\n`)) writeSync(1, Buffer.of(byte));
    return { stopReason: 'end_turn' };
  },
});
