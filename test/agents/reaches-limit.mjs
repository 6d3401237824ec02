// Every turn fails because the provider limits the account.
import { serve } from './acp-base.mjs';

serve({
  'session/prompt': () => {
    throw Object.assign(new Error('You have reached your usage limit; try again in 90 s'), { code: -32603 });
  },
});
