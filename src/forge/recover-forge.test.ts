import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeMakeRepository,
  openAuthorFolder,
  openForgeWorld,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { baseTip, measureLanding, packForge, recoverForge, takeBranch } from './index.ts';

async function setup() {
  const world = await openForgeWorld();
  const repository = await adoptRepository(world, makeMakeRepository(join(world.folder, 'app')));
  return { ...world, repository, tip: (await baseTip(world.forge, repository)) ?? '' };
}

test('a lock that a killed git left in the forge goes after a minute, a fresh one stays', async () => {
  const { forge, repository } = await setup();
  const stale = join(repository.forgeDir, 'refs', 'heads', 'main.lock');
  const fresh = join(repository.forgeDir, 'packed-refs.lock');
  const view = join(forge.folders.scratch, 'view-old');
  mkdirSync(view, { recursive: true });
  for (const path of [stale, fresh]) writeFileSync(path, '');
  const past = Date.now() / 1000 - 120;
  for (const path of [stale, view]) utimesSync(path, past, past);
  expect((await recoverForge(forge)).toSorted()).toEqual([stale, view].toSorted());
  expect(existsSync(fresh)).toBe(true);
  expect(await recoverForge(forge)).toEqual([]);
});

test('packing the forge keeps every object that a clone borrows, reachable or not (sessions case 57)', async () => {
  const world = await setup();
  const { forge, repository, inside, tip } = world;
  const loose = git(repository.forgeDir, 'commit-tree', `${tip}^{tree}`, '-m', 'of no ref');
  const folder = await openAuthorFolder(world, repository, tip);
  await packForge(forge, repository);
  expect(git(folder.clone, 'cat-file', '-t', loose)).toBe('commit');
  writeFiles(folder.clone, { 'x.txt': 'x\n' });
  const head = commitAll(folder.clone, 'x');
  expect(mustOk(await takeBranch(forge, repository, folder, inside)).commit).toBe(head);
});

test('the landing that the bench measures really lands', async () => {
  const world = await setup();
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  writeFiles(folder.clone, { 'x.txt': 'x\n' });
  commitAll(folder.clone, 'x');
  const { commit } = mustOk(await takeBranch(forge, repository, folder, inside));
  const measured = await measureLanding(forge, repository, commit, 'bench-1');
  expect(measured.landingMs).toBeGreaterThan(0);
  expect(measured.baselineMs).toBeGreaterThan(0);
  expect(git(repository.forgeDir, 'show', 'main:x.txt')).toBe('x');
  expect(git(repository.forgeDir, 'for-each-ref', 'refs/chantier/candidate')).toBe('');
});
