/**
 * `npm run test:agents [-- --full] [-- FILES…]`: the real agents against a scripted model server on this machine. `--full` is
 * the long form: also Copilot CLI and OpenCode, and everything as an ordinary user too.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({ options: { full: { type: 'boolean' } }, allowPositionals: true });
const run = spawnSync('vitest', ['run', '--config', 'vitest.agents.config.ts', ...positionals], {
  stdio: 'inherit',
  env: { ...process.env, ...(values.full ? { CHANTIER_TEST_FULL: '1' } : {}) },
});
if (run.error) throw run.error;
process.exitCode = run.status ?? 1;
