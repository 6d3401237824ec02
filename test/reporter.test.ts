import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

import { expect, it, onTestFinished } from 'vitest';

const repository = resolve(import.meta.dirname, '..');

const planted = {
  'passes.test.js': `it('a', () => {}); it('b', () => {});`,
  'fails.test.js': `it('c', () => expect(1).toBe(2)); it.skip('d (not run: no printer is here)', () => {});`,
  'skips.test.js': `it('e', (context) => context.skip('no moon')); it.skip('f (n/a: not this system)', () => {});`,
  'hook.test.js': `describe('s', () => { beforeAll(() => { throw new Error('hook') }); it('g', () => {}); });`,
  'broken.test.js': `throw new Error('does not load');`,
  'late.test.js': `it('h', () => void Promise.reject(new Error('nobody waits')));`,
};

it('the last line counts tests, files that do not load, hooks and errors outside of tests; skips say why (design 10)', async () => {
  const { lines, status } = await runPlanted(planted);
  expect(lines.at(-1)).toBe('3 passed, 4 failed, 4 skipped');
  expect(lines.filter((line) => line.startsWith('did not run: ')).toSorted()).toEqual([
    'did not run: hook.test.js: s > g (1)',
    'did not run: no moon (1)',
    'did not run: no printer is here (1)',
  ]);
  expect(status).toBe(1);
});

it('a skipped part fails the run where everything is required, and only there (design 10)', async () => {
  const some = { 'skips.test.js': planted['skips.test.js'], 'passes.test.js': planted['passes.test.js'] };
  const notHere = { 'n.test.js': `it.skip('f (n/a: not this system)', () => {}); it('a', () => {});` };
  const runs = await Promise.all([
    runPlanted(some),
    runPlanted(some, { CHANTIER_TEST_REQUIRE_ALL: '1' }),
    runPlanted(notHere, { CHANTIER_TEST_REQUIRE_ALL: '1' }),
  ]);
  expect(runs.map(({ lines, status }) => [lines.at(-1), status])).toEqual([
    ['2 passed, 0 failed, 2 skipped', 0],
    ['2 passed, 0 failed, 2 skipped', 1],
    ['1 passed, 0 failed, 1 skipped', 0],
  ]);
});

/** Runs vitest with the reporter on files of its own. */
async function runPlanted(files: Record<string, string>, env: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-reporter-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const reporters = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'reporter.ts')}`];
  const { CHANTIER_TEST_REQUIRE_ALL: _, ...inherited } = process.env;
  const vitest = join(repository, 'node_modules/.bin/vitest');
  const child = spawn(vitest, ['run', '--root', folder, '--globals', '--maxWorkers=1', '--no-isolate', ...reporters], {
    cwd: folder,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const output = await text(child.stdout);
  return { lines: output.trimEnd().split('\n'), status: await ended };
}
