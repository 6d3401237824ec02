import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { cacheKeyOf, keepPrivateCache, pruneCaches, takePrivateCache } from './private-cache.ts';

function setup() {
  const base = mkdtempSync(join(tmpdir(), 'cache-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const store = join(base, 'store');
  const filled = join(base, 'filled');
  mkdirSync(join(filled, 'sub'), { recursive: true });
  writeFileSync(join(filled, 'sub/a'), 'installed');
  symlinkSync('../../etc/passwd', join(filled, 'link'));
  return { base, store, filled };
}

test('gives each work folder a private copy: one session cannot change what another installs (X-12)', async () => {
  const { base, store, filled } = setup();
  const [one, two] = [join(base, 'w1/cache'), join(base, 'w2/cache')];
  expect(await takePrivateCache({}, { store, key: 'k', into: one })).toBe('miss');
  await keepPrivateCache({ from: filled, store, key: 'k' });
  expect(await takePrivateCache({}, { store, key: 'k', into: one })).toBe('hit');
  writeFileSync(join(one, 'sub/a'), 'poisoned');
  expect(await takePrivateCache({}, { store, key: 'k', into: two })).toBe('hit');
  expect(readFileSync(join(two, 'sub/a'), 'utf8')).toBe('installed');
  expect(readlinkSync(join(two, 'link'))).toBe('../../etc/passwd');
});

test('what is kept once stays, and nothing half copied is left (X-12)', async () => {
  const { store, filled, base } = setup();
  await keepPrivateCache({ from: filled, store, key: 'k' });
  writeFileSync(join(filled, 'sub/a'), 'later');
  await keepPrivateCache({ from: filled, store, key: 'k' });
  expect(readFileSync(join(store, 'k/sub/a'), 'utf8')).toBe('installed');
  await expect(keepPrivateCache({ from: join(base, 'missing'), store, key: 'other' })).rejects.toThrow();
  expect(existsSync(join(store, 'other'))).toBe(false);
});

test('the key changes with a lockfile and with what else is named (X-12)', async () => {
  const { filled } = setup();
  const key = () => cacheKeyOf(filled, ['package-lock.json'], ['npm ci']);
  const missing = await key();
  writeFileSync(join(filled, 'package-lock.json'), '{}');
  const first = await key();
  expect(await key()).toBe(first);
  writeFileSync(join(filled, 'package-lock.json'), '{ }');
  expect(new Set([missing, first, await key(), await cacheKeyOf(filled, ['package-lock.json'], ['pnpm i'])]).size).toBe(
    4,
  );
});

test('caches that were not used for longest leave first', async () => {
  const { store, filled } = setup();
  for (const [index, key] of ['old', 'middle', 'new'].entries()) {
    await keepPrivateCache({ from: filled, store, key });
    utimesSync(join(store, key), index + 1, index + 1);
  }
  await pruneCaches(store, 2);
  expect(['old', 'middle', 'new'].map((key) => existsSync(join(store, key)))).toEqual([false, true, true]);
});
