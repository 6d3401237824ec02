// Cannot open a conversation again: it says so, as an agent does that lost its record. New ones work; a turn does not end.
import { serve } from './acp-base.mjs';

serve({
  'session/resume': () => {
    throw Object.assign(new Error('no such conversation'), { code: -32603 });
  },
  'session/load': () => {
    throw Object.assign(new Error('no such conversation'), { code: -32603 });
  },
  'session/prompt': () => new Promise(() => {}),
});
