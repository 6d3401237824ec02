// codex exec that ends with an error before it says anything, as for a thread that it does not know.
import { thread } from './codex-base.mjs';

console.error(`Error: no rollout found for thread id ${thread}`);
process.exitCode = 1;
