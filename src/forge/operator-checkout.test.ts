import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  adoptRepository,
  checkOperatorCheckout,
  commitAll,
  folderState,
  git,
  landChange,
  makeDirtyRepository,
  makeMakeRepository,
  openAuthorFolder,
  openForgeWorld,
  syncBase,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { detectRepository, fastForwardOperator, snapshotChanges } from './index.ts';

/** One world for the tests that only read what landed; each takes a fresh copy of the checkout as it was before. */
async function openShared() {
  const world = await openForgeWorld({ keep: true });
  const original = makeMakeRepository(join(world.folder, 'app'));
  const repository = await adoptRepository(world, original);
  const landed = await landChange(world, repository, { 'new.txt': 'new\n' });
  let count = 0;
  const fresh = (): string => {
    const copy = join(world.folder, `copy-${++count}`);
    cpSync(original, copy, { recursive: true, preserveTimestamps: true });
    return copy;
  };
  return { world, repository, landed, fresh };
}

let shared: ReturnType<typeof openShared>;
beforeAll(async () => {
  shared = openShared();
  await shared;
});
afterAll(async () => rmSync((await shared).world.folder, { recursive: true, force: true }));

async function setup() {
  const world = await openForgeWorld();
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  return { ...world, checkout, repository };
}

test('with uncommitted work nothing of the checkout changes, and the printed command does the rest', async () => {
  const world = await openForgeWorld();
  const checkout = makeDirtyRepository(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const before = folderState(checkout);
  const to = await landChange(world, repository, { 'new.txt': 'new\n' });
  const left = await fastForwardOperator(world.forge, repository, to);
  expect(folderState(checkout)).toEqual(before);
  expect(left).toMatchObject({ outcome: 'left', reason: 'there is uncommitted work in staged.txt, README.md' });
  git(checkout, 'stash', '--quiet', '--include-untracked');
  if (left.outcome === 'left') git(checkout, ...left.command.split(' ').slice(3));
  expect(git(checkout, 'rev-parse', 'main')).toBe(to);
});

test('a fast-forward writes exactly the landed files, with the modes and line of reflog of a person’s git', async () => {
  const world = await setup();
  const { checkout, repository, forge } = world;
  writeFiles(checkout, { 'notes.txt': 'my own\n' });
  const before = folderState(checkout, ['.git/objects']);
  const to = await landChange(world, repository, { 'greeting.txt': 'hello moon\n', 'sub/deep.txt': 'deep\n' }, [
    'README.md',
  ]);
  expect(await fastForwardOperator(forge, repository, to)).toMatchObject({ outcome: 'forwarded', files: 3 });
  const after = folderState(checkout, ['.git/objects']);
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = paths.filter((path) => before[path] !== after[path]).toSorted();
  expect(changed).toEqual([
    '.git/index',
    '.git/logs/HEAD',
    '.git/logs/refs/heads/main',
    '.git/refs/heads/main',
    'README.md',
    'greeting.txt',
    'sub',
    'sub/deep.txt',
  ]);
  expect(after['sub/deep.txt']).toMatch(/^file 644/);
  expect(after['sub']).toBe('folder 755');
  expect(git(checkout, 'status', '--porcelain')).toBe('?? notes.txt');
  expect(git(checkout, 'reflog', '-1', '--format=%gs', 'main')).toBe(
    `chantier: fast-forward main to ${to.slice(0, 12)}`,
  );
});

test('a base that is not checked out is moved without touching files or index', async () => {
  const world = await setup();
  const { checkout, repository, forge } = world;
  git(checkout, 'checkout', '--quiet', '-b', 'feature');
  writeFiles(checkout, { 'greeting.txt': 'hello feature\n' });
  const before = folderState(checkout, ['.git/objects']);
  const to = await landChange(world, repository, { 'new.txt': 'new\n' });
  expect(await fastForwardOperator(forge, repository, to)).toMatchObject({ outcome: 'forwarded' });
  const after = folderState(checkout, ['.git/objects']);
  const changed = Object.keys({ ...before, ...after }).filter((path) => before[path] !== after[path]);
  expect(changed.toSorted()).toEqual(['.git/logs/refs/heads/main', '.git/refs/heads/main']);
});

test.each([
  ['an untracked file is in the way', (top: string) => writeFiles(top, { 'new.txt': 'mine\n' }), /in the way: new.txt/],
  [
    'an ignored file is in the way',
    (top: string) => writeFiles(top, { '.git/info/exclude': 'new.txt\n', 'new.txt': 'mine\n' }),
    /in the way: new.txt/,
  ],
  [
    'the operator committed meanwhile',
    (top: string) => void (writeFiles(top, { 'm.txt': 'm\n' }), commitAll(top, 'm')),
    /has commits there/,
  ],
  [
    'a merge is not finished',
    (top: string) => writeFiles(top, { '.git/MERGE_HEAD': `${git(top, 'rev-parse', 'HEAD')}\n` }),
    /merge is not finished/,
  ],
  ['another git command runs', (top: string) => writeFiles(top, { '.git/index.lock': '' }), /index.lock/],
  [
    'content filters are used',
    (top: string) => writeFiles(top, { '.git/info/attributes': '*.bin filter=lfs\n' }),
    /content filters/,
  ],
  ['the ref is locked', (top: string) => writeFiles(top, { '.git/refs/heads/main.lock': '' }), /locked by another/],
  [
    'it is a sparse checkout',
    (top: string) => void git(top, 'config', 'core.sparseCheckout', 'true'),
    /sparse checkout/,
  ],
  [
    'the base is checked out elsewhere',
    (top: string) =>
      void (
        git(top, 'checkout', '--quiet', '-b', 'f'),
        git(top, 'worktree', 'add', '--quiet', `${top}-linked`, 'main')
      ),
    /another work tree/,
  ],
])('leaves everything as it is when %s', async (_, prepare, reason) => {
  const { world, landed, repository, fresh } = await shared;
  const checkout = fresh();
  prepare(checkout);
  const before = folderState(checkout, ['.git/objects']);
  const left = await fastForwardOperator(world.forge, { ...repository, operatorPath: checkout }, landed);
  expect(left).toMatchObject({ outcome: 'left' });
  expect(left.outcome === 'left' && left.reason).toMatch(reason);
  expect(folderState(checkout, ['.git/objects'])).toEqual(before);
});

test('a landing with filters in its own .gitattributes is left to the operator’s git', async () => {
  const world = await setup();
  const to = await landChange(world, world.repository, { 'deep/.gitattributes': '*.bin filter=lfs diff=lfs\n' });
  expect(await fastForwardOperator(world.forge, world.repository, to)).toMatchObject({
    outcome: 'left',
    reason: expect.stringContaining('filters'),
  });
});

test('a fast-forward that stopped between the files and the ref is finished by repeating it', async () => {
  const world = await setup();
  const { checkout, repository, forge } = world;
  const to = await landChange(world, repository, { 'new.txt': 'new\n', 'greeting.txt': 'hello moon\n' });
  git(checkout, 'fetch', '--quiet', repository.forgeDir, 'main');
  git(checkout, 'read-tree', '-m', '-u', 'main', to);
  expect(git(checkout, 'diff', '--cached', '--name-only').split('\n')).toEqual(['greeting.txt', 'new.txt']);
  expect(await fastForwardOperator(forge, repository, to)).toMatchObject({ outcome: 'forwarded' });
  expect(git(checkout, 'status', '--porcelain')).toBe('');
});

test('--with-changes takes staged, unstaged and untracked work into a ref and leaves it where it is', async () => {
  const world = await openForgeWorld();
  const checkout = makeDirtyRepository(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const before = folderState(checkout);
  const snapshot = mustOk(await snapshotChanges(world.forge, repository, 'run-1'));
  expect(snapshot.files).toEqual(['README.md', 'staged.txt', 'untracked.txt']);
  expect(mustOk(await snapshotChanges(world.forge, repository, 'run-1'))).toEqual(snapshot);
  expect(folderState(checkout)).toEqual(before);
  expect(git(repository.forgeDir, 'rev-parse', `${snapshot.commit}^`)).toBe(git(checkout, 'rev-parse', 'main'));
  const folder = await openAuthorFolder(world, repository, snapshot.commit);
  expect(git(folder.clone, 'show', 'HEAD:untracked.txt')).toBe('untracked');
});

test('--with-changes says why it cannot: nothing there, or not on the base', async () => {
  const world = await setup();
  const { forge, repository, checkout } = world;
  expect(await snapshotChanges(forge, repository, 'k')).toMatchObject({ refusal: { code: 'nothing_to_snapshot' } });
  git(checkout, 'checkout', '--quiet', '-b', 'side');
  commitAll(checkout, 'side');
  expect(await snapshotChanges(forge, repository, 'k')).toMatchObject({ refusal: { code: 'not_on_base' } });
});

test(
  'property: whatever state the checkout is in, every operation leaves it byte-equal but for the announced fast-forward',
  { timeout: 120_000 },
  () => shared.then(({ world }) => checkOperatorCheckout(world, { numRuns: 5 })),
);

test('a checkout that belongs to another user is read and left alone', async () => {
  if (process.getuid?.() !== 0) return;
  const world = await setup();
  const to = await landChange(world, world.repository, { 'new.txt': 'new\n' });
  execFileSync('chown', ['-R', '12345:12345', world.checkout]);
  expect(mustOk(await detectRepository(world.forge, world.checkout)).dirty.isClean).toBe(true);
  expect(await syncBase(world.forge, world.repository)).toMatchObject({ kind: 'current' });
  expect(await fastForwardOperator(world.forge, world.repository, to)).toMatchObject({
    outcome: 'left',
    reason: 'the checkout belongs to another user',
  });
});

test('a folder whose .git is hostile in form is refused, not followed', async () => {
  const world = await openForgeWorld();
  const path = join(world.folder, 'app');
  mkdirSync(path);
  writeFileSync(join(path, '.git'), 'gitdir: /nonexistent\n');
  expect(await detectRepository(world.forge, path)).toMatchObject({ refusal: { code: 'not_a_repository' } });
});
