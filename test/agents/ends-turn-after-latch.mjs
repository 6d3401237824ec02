// Says that its turn ended well when it is told to go, as Copilot did: too late to count.
import { serve } from './acp-base.mjs';

let finish;
process.on('SIGTERM', () => {
  finish?.({ stopReason: 'end_turn' });
  setTimeout(() => process.exit(0), 50);
});
serve(
  { 'session/prompt': () => new Promise((resolve) => (finish = resolve)) },
  { onEnd: () => setInterval(() => {}, 1_000) },
);
