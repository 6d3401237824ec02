import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  folderState,
  type ForgeWorld,
  git,
  makeDirtyRepository,
  makeMakeRepository,
  openAuthorFolder,
  openForgeWorld,
  syncBase,
  turing,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { openTestSqlite } from '../store/testing.ts';
import {
  baseTip,
  buildCandidate,
  changedFiles,
  detectRepository,
  fastForwardOperator,
  inspectWorkFolder,
  landCandidate,
  publishReviewedBranch,
  registerRepository,
  removeWorkFolder,
  type Repository,
  snapshotChanges,
  takeBranch,
} from './index.ts';
import { operator } from '../../test/repositories/index.ts';

/** Lands one change (files written in a work folder) and gives the landed commit. */
async function land(
  world: ForgeWorld,
  repository: Repository,
  files: Record<string, string>,
  removed: readonly string[] = [],
): Promise<string> {
  const { forge, inside } = world;
  const start = (await baseTip(forge, repository)) ?? '';
  const key = `session-${start.slice(0, 8)}`;
  const folder = await openAuthorFolder(world, repository, start, { ownerKey: key, branch: `chantier/turing/${key}` });
  for (const path of removed) git(folder.clone, 'rm', '--quiet', path);
  writeFiles(folder.clone, files);
  commitAll(folder.clone, 'A change');
  mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  await changedFiles(forge, repository, start, taken.commit);
  const landing = {
    landingId: key,
    head: taken.commit,
    method: 'squash',
    message: 'Change',
    author: turing,
    dateMs: 0,
  } as const;
  const candidate = mustOk(await buildCandidate(forge, repository, landing));
  mustOk(await publishReviewedBranch(forge, repository, candidate, taken.branch));
  mustOk(await landCandidate(forge, repository, candidate, taken.branch));
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  return candidate.commit;
}

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
  const to = await land(world, repository, { 'new.txt': 'new\n' });
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
  const to = await land(world, repository, { 'greeting.txt': 'hello moon\n', 'sub/deep.txt': 'deep\n' }, ['README.md']);
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
  const to = await land(world, repository, { 'new.txt': 'new\n' });
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
  const world = await setup();
  const { checkout, repository, forge } = world;
  const to = await land(world, repository, { 'new.txt': 'new\n' });
  prepare(checkout);
  const before = folderState(checkout, ['.git/objects']);
  const left = await fastForwardOperator(forge, repository, to);
  expect(left).toMatchObject({ outcome: 'left' });
  expect(left.outcome === 'left' && left.reason).toMatch(reason);
  expect(folderState(checkout, ['.git/objects'])).toEqual(before);
});

test('a landing with filters in its own .gitattributes is left to the operator’s git', async () => {
  const world = await setup();
  const to = await land(world, world.repository, { 'deep/.gitattributes': '*.bin filter=lfs diff=lfs\n' });
  expect(await fastForwardOperator(world.forge, world.repository, to)).toMatchObject({
    outcome: 'left',
    reason: expect.stringContaining('filters'),
  });
});

test('a fast-forward that stopped between the files and the ref is finished by repeating it', async () => {
  const world = await setup();
  const { checkout, repository, forge } = world;
  const to = await land(world, repository, { 'new.txt': 'new\n', 'greeting.txt': 'hello moon\n' });
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

let shared: ForgeWorld;
let count = 0;
beforeAll(async () => void (shared = await openForgeWorld({ keep: true })));
afterAll(() => rmSync(shared.folder, { recursive: true, force: true }));

/** One thing that a person may have done in their checkout. */
const deed = fc.oneof(
  fc.record({
    do: fc.constant('edit' as const),
    path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt', 'ümlaut "q" file', 'd/x'),
    text: fc.string({ maxLength: 20 }),
  }),
  fc.record({
    do: fc.constant('stage' as const),
    path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt', 'd/x'),
  }),
  fc.record({ do: fc.constant('remove' as const), path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt') }),
  fc.record({
    do: fc.constantFrom(
      'stash' as const,
      'commit' as const,
      'branch' as const,
      'link' as const,
      'touch' as const,
      'chmod' as const,
      'pack' as const,
      'config' as const,
      'intent' as const,
      'tag' as const,
    ),
  }),
);

function perform(top: string, step: typeof deed extends fc.Arbitrary<infer T> ? T : never, at: number): void {
  try {
    if (step.do === 'edit') writeFiles(top, { [step.path]: step.text });
    else if (step.do === 'stage') git(top, 'add', '--', step.path);
    else if (step.do === 'remove') rmSync(join(top, step.path));
    else if (step.do === 'stash') git(top, 'stash', '--quiet');
    else if (step.do === 'commit') git(top, 'commit', '--quiet', '--allow-empty', '-a', '-m', `person ${at}`);
    else if (step.do === 'branch') git(top, 'checkout', '--quiet', '-b', `side-${at}`);
    else if (step.do === 'link') symlinkSync('/etc/hostname', join(top, 'link'));
    else if (step.do === 'touch') utimesSync(join(top, 'greeting.txt'), at, at);
    else if (step.do === 'chmod') chmodSync(join(top, 'test.sh'), 0o755);
    else if (step.do === 'pack') git(top, 'pack-refs', '--all');
    else if (step.do === 'config') git(top, 'config', 'core.autocrlf', 'input');
    else if (step.do === 'intent') git(top, 'add', '--intent-to-add', '.');
    else git(top, 'tag', `t${at}`);
  } catch {
    // Not every deed is possible in every state; what matters is the state that comes out.
  }
}

test(
  'property: whatever state the checkout is in, every operation leaves it byte-equal but for the announced fast-forward',
  { timeout: 120_000 },
  async () => {
    const { store } = await openTestSqlite();
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 8 }), fc.boolean(), async (steps, adoptFirst) => {
        const { forge } = shared;
        const checkout = makeMakeRepository(join(shared.folder, `app-${++count}`));
        const doAll = (): void => steps.forEach((step, at) => perform(checkout, step, at));
        if (!adoptFirst) doAll();
        const detected = mustOk(await detectRepository(forge, checkout, { base: 'main' }));
        const repository = mustOk(
          await store.tx((tx) =>
            registerRepository(tx, { detected, forgeFolder: forge.folders.forge, actor: operator }),
          ),
        );
        await syncBase(forge, repository);
        if (adoptFirst) doAll();
        const before = folderState(checkout);
        await detectRepository(forge, checkout, { base: 'main' });
        await snapshotChanges(forge, repository, 'any');
        if (adoptFirst) await syncBase(forge, repository);
        const to = await land(shared, repository, { 'greeting.txt': `hello ${count}\n`, 'landed.txt': 'landed\n' });
        expect(folderState(checkout)).toEqual(before);
        const outcome = await fastForwardOperator(forge, repository, to);
        const allowed = [
          '.git/objects',
          '.git/index',
          '.git/logs',
          '.git/refs/heads/main',
          '.git/packed-refs',
          'greeting.txt',
          'landed.txt',
        ];
        if (outcome.outcome === 'left') expect(folderState(checkout)).toEqual(before);
        else {
          expect(folderState(checkout, allowed)).toEqual(folderStateWithout(before, allowed));
          expect(git(checkout, 'rev-parse', 'main')).toBe(to);
          expect(git(checkout, 'fsck', '--connectivity-only', '--no-dangling')).toBe('');
        }
      }),
      { numRuns: 12 },
    );
  },
);

function folderStateWithout(state: Record<string, string>, skip: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(state).filter(([path]) => !skip.some((one) => path === one || path.startsWith(`${one}/`))),
  );
}

test('a checkout that belongs to another user is read and left alone', async () => {
  if (process.getuid?.() !== 0) return;
  const world = await setup();
  const { execFileSync } = await import('node:child_process');
  const to = await land(world, world.repository, { 'new.txt': 'new\n' });
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
