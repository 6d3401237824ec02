/**
 * `npm run test:slow [-- --full] [-- --seed N] [-- FILES…]`: the slow suite. `--full` is the long form. What is random follows
 * from the seed, which is printed, so that a failure can be repeated.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { full: { type: 'boolean' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const seed = values.seed ?? process.env.CHANTIER_TEST_SEED ?? String(Math.floor(Math.random() * 1_000_000));
process.stdout.write(`seed ${seed}${values.full ? ', long form' : ''}\n`);
const run = spawnSync('vitest', ['run', '--config', 'vitest.slow.config.ts', ...positionals], {
  stdio: 'inherit',
  env: { ...process.env, CHANTIER_TEST_SEED: seed, ...(values.full ? { CHANTIER_TEST_FULL: '1' } : {}) },
});
if (run.error) throw run.error;
process.exitCode = run.status ?? 1;
