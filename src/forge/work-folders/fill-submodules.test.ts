import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeRepository,
  makeSubmoduleUser,
  openAuthorFolder,
  openForgeWorld,
} from '../../../test/repositories/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { baseTip, detectRepository, inspectWorkFolder, prepareWorkFolder, removeWorkFolder } from '../index.ts';

async function setup(make: (folder: string) => string) {
  const world = await openForgeWorld();
  const checkout = make(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const folder = await openAuthorFolder(world, repository, (await baseTip(world.forge, repository)) ?? '');
  const prepared = mustOk(await prepareWorkFolder(world.forge, repository, folder, world.inside));
  return { ...world, checkout, repository, folder, prepared };
}

test('a work folder has the files of submodules, and never a repository, a remote or work in them (design 6)', async () => {
  const { forge, repository, inside, folder, prepared } = await setup((path) => {
    makeSubmoduleUser(path);
    // One inside the other, as the person cloned them.
    const deep = makeRepository(`${path}-deep`, { 'deep.txt': 'deep\n' });
    const lib = join(path, 'vendor/lib');
    git(lib, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', deep, 'deep');
    commitAll(lib, 'Deeper');
    commitAll(path, 'Deeper');
    return path;
  });
  expect(prepared.submodules).toEqual({ filled: ['vendor/lib'], missing: [] });
  const lib = join(folder.clone, 'vendor/lib');
  expect(readdirSync(lib).toSorted()).toEqual(['.gitmodules', 'deep', 'lib.txt']);
  expect(readFileSync(join(lib, 'deep/deep.txt'), 'utf8')).toBe('deep\n');
  expect(statSync(join(lib, 'lib.txt')).mode & 0o222).toBe(0);
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual([]);
  expect(git(folder.clone, 'status', '--porcelain')).toBe('');
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(existsSync(folder.root)).toBe(false);
});

test('a submodule that nobody fetched stays empty, and detection says how to fetch it', async () => {
  const { forge, checkout, folder, prepared } = await setup((path) => {
    makeSubmoduleUser(`${path}-full`);
    git('/', 'clone', '--quiet', `${path}-full`, path);
    return path;
  });
  expect(prepared.submodules).toEqual({ filled: [], missing: ['vendor/lib'] });
  expect(readdirSync(join(folder.clone, 'vendor/lib'))).toEqual([]);
  const { notes } = mustOk(await detectRepository(forge, checkout));
  expect(notes.join('\n')).toContain('Not fetched in your checkout: vendor/lib. Run git submodule update --init');
});

test('a name in .gitmodules never leads to another repository of the operator', async () => {
  const { prepared } = await setup((path) => {
    makeSubmoduleUser(path);
    const secret = makeRepository(join(path, '..', 'secret'), { 'key.txt': 'secret\n' });
    const commit = git(secret, 'rev-parse', 'HEAD');
    const evil = '[submodule "../../../secret/.git"]\n\tpath = stolen\n\turl = x\n';
    writeFileSync(join(path, '.gitmodules'), `${readFileSync(join(path, '.gitmodules'), 'utf8')}${evil}`);
    git(path, 'update-index', '--add', '--cacheinfo', `160000,${commit},stolen`);
    git(path, 'add', '.gitmodules');
    git(path, 'commit', '--quiet', '-m', 'Evil');
    return path;
  });
  expect(prepared.submodules).toEqual({ filled: ['vendor/lib'], missing: ['stolen'] });
});
