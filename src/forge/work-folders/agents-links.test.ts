import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  makeRepository,
  openAuthorFolder,
  openForgeWorld,
  turing,
  writeFiles,
} from '../../../test/repositories/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { baseTip, createWorkFolder, prepareWorkFolder, removeWorkFolder, takeBranch } from '../index.ts';

test('a symlink that an agent commits in place of a folder leads neither the cache, copies nor links out of the clone (X-9)', async () => {
  const world = await openForgeWorld();
  const checkout = makeRepository(join(world.folder, 'app'), {
    'chantier.yml':
      'version: 1\nworkspace: { setup: [[sh, make.sh]], cacheKey: [lock], copy: [app/conf/local.env], link: [app/data/one.bin] }\nchecks: none\n',
    'make.sh': 'mkdir -p app/deps && cp lock app/deps/\n',
    'app/main.txt': 'x\n',
    lock: '1\n',
    '.gitignore': 'deps/\nconf/\ndata/\n',
  });
  writeFiles(checkout, { 'app/conf/local.env': 'SECRET=1\n', 'app/data/one.bin': '1\n' });
  const repository = await adoptRepository(world, checkout);
  const { forge, inside } = world;
  const folder = await openAuthorFolder(world, repository, (await baseTip(forge, repository))!);
  expect(mustOk(await prepareWorkFolder(forge, repository, folder, inside)).how).toBe('ran');

  const theirs = join(world.folder, 'theirs');
  mkdirSync(theirs);
  writeFiles(theirs, { 'deps/kept.txt': 'the operator’s own\n' });
  rmSync(join(folder.clone, 'app'), { recursive: true });
  symlinkSync(theirs, join(folder.clone, 'app'));
  commitAll(folder.clone, 'a link');
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  const candidate = await createWorkFolder(forge, repository, {
    ownerKey: 'candidate-1',
    purpose: 'candidate',
    startCommit: taken.commit,
    identity: turing,
    sandbox: inside.sandbox,
  });
  expect(lstatSync(join(candidate.clone, 'app')).isSymbolicLink()).toBe(true);
  await prepareWorkFolder(forge, repository, candidate, { ...inside, signal: AbortSignal.abort() });
  expect(await readdir(theirs)).toEqual(['deps']);
  expect(await readdir(join(theirs, 'deps'))).toEqual(['kept.txt']);
});

test('a folder made anew around an agent’s home writes through no symlink and waits for no FIFO in it (X-9)', async () => {
  const world = await openForgeWorld();
  const repository = await adoptRepository(world, makeRepository(join(world.folder, 'app'), { 'a.txt': 'x\n' }));
  const { forge, inside } = world;
  const tip = (await baseTip(forge, repository))!;
  const folder = await openAuthorFolder(world, repository, tip);
  const theirs = join(world.folder, 'bashrc');
  writeFileSync(theirs, 'the operator’s own\n');
  rmSync(join(folder.home, '.gitconfig'));
  symlinkSync(theirs, join(folder.home, '.gitconfig'));
  mustOk(await removeWorkFolder(forge, repository, folder, inside, { keepHome: true }));
  await openAuthorFolder(world, repository, tip);
  expect(readFileSync(theirs, 'utf8')).toBe('the operator’s own\n');
  expect(readFileSync(join(folder.home, '.gitconfig'), 'utf8')).toContain('turing');
});
