import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  commitAll,
  type ForgeWorld,
  git,
  makeMakeRepository,
  makeSubmoduleRepository,
  openForgeWorld,
  registerIn,
  syncBase,
  turing,
  vectors,
  writeFiles,
} from '../../test/repositories/index.ts';
import { openTestSqlite } from '../store/testing.ts';
import { mustOk } from '../kernel/index.ts';
import {
  baseTip,
  buildCandidate,
  changedFiles,
  createWorkFolder,
  detectRepository,
  type FastForward,
  fastForwardOperator,
  inspectWorkFolder,
  landCandidate,
  patchOf,
  prepareWorkFolder,
  publishReviewedBranch,
  removeWorkFolder,
  snapshotChanges,
  takeBranch,
} from './index.ts';

/** Every server operation that touches an operator's checkout, in the order of a task's life. */
async function runEverything(
  world: ForgeWorld,
  checkout: string,
  between: { plantIn?: (clone: string) => void; attributes?: string } = {},
): Promise<FastForward> {
  const { forge, inside } = world;
  const { store } = await openTestSqlite();
  const detected = mustOk(await detectRepository(forge, checkout));
  const repository = await registerIn(store, forge, {
    ...detected,
    config: { ...detected.config, workspace: { ...detected.config.workspace, copy: ['local.env'] } },
  });
  await syncBase(forge, repository);
  writeFiles(checkout, { 'local.env': 'A=1\n', 'greeting.txt': 'hello edited\n' });
  mustOk(await snapshotChanges(forge, repository, 'key-1'));
  writeFiles(checkout, { 'greeting.txt': 'hello world\n' });
  const start = (await baseTip(forge, repository)) ?? '';
  const request = {
    identity: turing,
    sandbox: inside.sandbox,
    branch: 'chantier/turing/issue-1',
    startCommit: start,
    ownerKey: 'session-1',
    purpose: 'author',
  } as const;
  const folder = await createWorkFolder(forge, repository, request);
  mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  writeFiles(folder.clone, {
    'greeting.txt': 'hello moon\n',
    '.gitattributes': between.attributes ?? '* filter=evil diff=evil merge=evil\n',
  });
  commitAll(folder.clone, 'A change');
  between.plantIn?.(folder.clone);
  writeFiles(folder.clone, { 'dirty.txt': 'dirty\n', 'greeting.txt': 'hello dirty moon\n' });
  mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  await changedFiles(forge, repository, start, taken.commit);
  await patchOf(forge, repository, start, taken.commit);
  const landing = {
    landingId: 'landing-1',
    head: taken.commit,
    method: 'squash',
    message: 'Change',
    author: turing,
    dateMs: 0,
  } as const;
  const candidate = mustOk(await buildCandidate(forge, repository, landing));
  const check = {
    ownerKey: 'landing-1',
    purpose: 'candidate',
    startCommit: candidate.commit,
    identity: turing,
    sandbox: inside.sandbox,
  } as const;
  mustOk(await removeWorkFolder(forge, repository, await createWorkFolder(forge, repository, check), inside));
  mustOk(await publishReviewedBranch(forge, repository, candidate, taken.branch));
  mustOk(await landCandidate(forge, repository, candidate, taken.branch));
  const outcome = await fastForwardOperator(forge, repository, candidate.commit);
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  return outcome;
}

describe('what is planted in an operator’s checkout is never executed by a server operation', () => {
  let world: ForgeWorld;
  beforeAll(async () => void (world = await openForgeWorld({ keep: true })));
  afterAll(() => rmSync(world.folder, { recursive: true, force: true }));

  for (const vector of vectors.filter(({ spring }) => spring)) {
    test(`the trap ${vector.name} works: plain git springs it`, () => {
      const canary = join(world.folder, `canary-${vector.name}`);
      mkdirSync(canary);
      const checkout = makeMakeRepository(join(world.folder, `control-${vector.name}`));
      vector.plant(checkout, canary);
      vector.spring?.(checkout);
      expect(readdirSync(canary)).toEqual([vector.name]);
    });
  }
});

test('all vectors at once in the operator’s checkout: none runs', async () => {
  const world = await openForgeWorld();
  const canary = join(world.folder, 'canary');
  mkdirSync(canary);
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  for (const vector of vectors.filter(({ name }) => name !== 'promisor')) vector.plant(checkout, canary);
  await runEverything(world, checkout);
  expect(readdirSync(canary)).toEqual([]);
});

test('what a fast-forward writes into the checkout springs no hook, fsmonitor or program there', async () => {
  const world = await openForgeWorld();
  const canary = join(world.folder, 'canary');
  mkdirSync(canary);
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  const attributed = ['filter', 'filter-process', 'textconv', 'diff-driver', 'merge-driver', 'promisor'];
  for (const vector of vectors.filter(({ name }) => !attributed.includes(name))) vector.plant(checkout, canary);
  const outcome = await runEverything(world, checkout, { attributes: 'README.md text\n' });
  expect(outcome).toMatchObject({ outcome: 'forwarded' });
  expect(readdirSync(canary)).toEqual([]);
});

test('a partial clone whose remote runs a program is refused before anything is fetched', async () => {
  const world = await openForgeWorld();
  const canary = join(world.folder, 'canary');
  mkdirSync(canary);
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  vectors.find(({ name }) => name === 'promisor')?.plant(checkout, canary);
  git(checkout, 'config', 'remote.lazy.promisor', 'true');
  expect(await detectRepository(world.forge, checkout)).toMatchObject({ refusal: { code: 'partial_clone' } });
  expect(readdirSync(canary)).toEqual([]);
});

test('all vectors at once in a work folder’s clone: none runs outside of its sandbox', async () => {
  const world = await openForgeWorld();
  const canary = join(world.folder, 'canary');
  mkdirSync(canary);
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  await runEverything(world, checkout, {
    plantIn: (clone) => vectors.forEach((vector) => vector.plant(clone, canary)),
  });
  expect(readdirSync(canary)).toEqual([]);
});

test('a submodule with a trap of its own is neither entered nor cloned', async () => {
  const world = await openForgeWorld();
  const canary = join(world.folder, 'canary');
  mkdirSync(canary);
  const checkout = makeSubmoduleRepository(join(world.folder, 'app'));
  const inner = join(checkout, '.git', 'modules', 'lib');
  writeFileSync(join(inner, 'trap'), `#!/bin/sh\ntouch '${canary}/submodule'\n`, { mode: 0o755 });
  git(join(checkout, 'lib'), 'config', 'core.fsmonitor', join(inner, 'trap'));
  await runEverything(world, checkout);
  expect(readdirSync(canary)).toEqual([]);
});

test('a symlink that leaves the tree is carried as a link: nothing is read or written through it', async () => {
  const world = await openForgeWorld();
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  const secret = join(world.folder, 'secret');
  mkdirSync(secret);
  writeFileSync(join(secret, 'key'), 'secret\n');
  symlinkSync(secret, join(checkout, 'linked'));
  commitAll(checkout, 'A link');
  await runEverything(world, checkout, {
    plantIn(clone) {
      git(clone, 'rm', '--quiet', '-r', '--cached', 'linked');
      symlinkSync(join(secret, 'key'), join(clone, 'stolen'));
    },
  });
  expect(readdirSync(secret)).toEqual(['key']);
  const repositories = readdirSync(world.forge.folders.forge);
  const rescued = git(
    join(world.forge.folders.forge, repositories[0] ?? ''),
    'ls-tree',
    'refs/chantier/rescue/session-1/uncommitted',
    'stolen',
  );
  expect(rescued).toMatch(/^120000 blob/);
});

test('X-9: a FIFO in a work folder does not hang any reader', async () => {
  const world = await openForgeWorld();
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  await runEverything(world, checkout, {
    plantIn(clone) {
      rmSync(join(clone, 'README.md'));
      execFileSync('mkfifo', [join(clone, 'README.md'), join(clone, 'pipe')]);
    },
  });
});

test('objects that a clone borrows cannot be written through it, and its alternates lead nowhere outside', async () => {
  const world = await openForgeWorld();
  const { forge, inside } = world;
  const checkout = makeMakeRepository(join(world.folder, 'app'));
  const { store } = await openTestSqlite();
  const repository = await registerIn(store, forge, mustOk(await detectRepository(forge, checkout)));
  await syncBase(forge, repository);
  const start = (await baseTip(forge, repository)) ?? '';
  const folder = await createWorkFolder(forge, repository, {
    ownerKey: 'session-1',
    purpose: 'author',
    branch: 'work',
    startCommit: start,
    identity: turing,
    sandbox: inside.sandbox,
  });
  const own = readdirSync(join(folder.clone, '.git', 'objects'), { recursive: true }).map(String);
  expect(own.filter((path) => /^[0-9a-f]{2}\/|\.pack$/.test(path))).toEqual([]);
  // Alternates that point to another private repository give the server no object of it.
  const other = makeMakeRepository(join(world.folder, 'other'));
  writeFiles(other, { 'private.txt': 'private\n' });
  commitAll(other, 'private');
  writeFiles(folder.clone, { 'x.txt': 'x\n' });
  const head = commitAll(folder.clone, 'x');
  writeFileSync(
    join(folder.clone, '.git', 'objects', 'info', 'alternates'),
    `${join(repository.forgeDir, 'objects')}\n${join(other, '.git', 'objects')}\n`,
  );
  expect(mustOk(await takeBranch(forge, repository, folder, inside)).commit).toBe(head);
  expect(existsSync(join(repository.forgeDir, 'objects', 'info', 'alternates'))).toBe(false);
});
