// Its provider limits the account as long as the file LIMIT_FILE is there; the file holds the words of the refusal.
import { readFileSync } from 'node:fs';

import { serve } from './acp-base.mjs';

serve({
  'session/prompt': () => {
    let text;
    try {
      text = readFileSync(process.env.LIMIT_FILE, 'utf8');
    } catch {
      return { stopReason: 'end_turn' };
    }
    throw Object.assign(new Error(text), { code: -32603 });
  },
});
