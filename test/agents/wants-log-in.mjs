// Nobody is logged in: no session is opened.
import { serve } from './acp-base.mjs';

serve({
  'session/new': () => {
    throw Object.assign(new Error('Authentication required'), { code: -32000 });
  },
});
