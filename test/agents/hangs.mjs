// Takes a prompt and then neither works nor answers anything: its event loop is blocked for good.
import { serve } from './acp-base.mjs';

serve({
  'session/prompt': () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return {};
  },
});
