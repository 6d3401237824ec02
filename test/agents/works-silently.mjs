// Takes a prompt and says nothing about it until it is cancelled, but answers pings.
import { serve } from './acp-base.mjs';

let cancel;
serve(
  { 'session/prompt': () => new Promise((resolve) => (cancel = () => resolve({ stopReason: 'cancelled' }))) },
  { onCancel: () => cancel?.() },
);
