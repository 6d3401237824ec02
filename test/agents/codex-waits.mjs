// codex exec that works until it is interrupted, as it waits for a network that is not there.
import { begin, say } from './codex-base.mjs';

process.on('SIGINT', () => process.exit(1));
begin();
say(`working ${process.pid}`);
setInterval(() => undefined, 60_000);
