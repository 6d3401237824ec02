// codex exec whose model API refuses.
import { begin, send } from './codex-base.mjs';

begin();
const message = 'exceeded retry limit, last status: 429 Too Many Requests';
send({ type: 'error', message });
send({ type: 'turn.failed', error: { message } });
process.exitCode = 1;
