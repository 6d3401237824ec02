/** `npm run check`: everything a commit must pass, as one readable list. Ends at the first red step. */
import { spawnSync } from 'node:child_process';

const steps: readonly (readonly [name: string, ...command: string[]])[] = [
  ['format', 'oxfmt', '--check', '.'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings', '.'],
  ['types', 'tsc', '--noEmit', '-p', '.'],
  ['architecture', 'vitest', 'run', 'test/architecture.test.ts', '--reporter=dot'],
  ['docs', 'vitest', 'run', 'test/docs', '--reporter=dot'],
];

for (const [name, program, ...args] of steps) {
  const started = performance.now();
  const result = spawnSync(program!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (result.status !== 0) {
    process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}\n✗ ${name} (${[program, ...args].join(' ')})\n`);
    process.exit(1);
  }
  process.stdout.write(`✓ ${name} ${seconds}s\n`);
}
