import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeLfsRepository,
  makeMakeRepository,
  openAuthorFolder,
  openForgeWorld,
  writeFiles,
} from '../../../test/repositories/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { baseTip, changedFiles, checkPointers, takeBranch } from '../index.ts';

const pointerTo = (oid: string): string => `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 5\n`;

async function setup(make: (folder: string) => string) {
  const world = await openForgeWorld();
  const { forge, inside } = world;
  const checkout = make(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const tip = (await baseTip(forge, repository)) ?? '';
  const folder = await openAuthorFolder(world, repository, tip);
  const check = async (files: Record<string, string>) => {
    git(folder.clone, 'reset', '--quiet', '--hard', tip);
    writeFiles(folder.clone, files);
    commitAll(folder.clone, 'A change');
    const { commit } = mustOk(await takeBranch(forge, repository, folder, inside));
    return checkPointers(forge, repository, commit, await changedFiles(forge, repository, tip, commit));
  };
  return { checkout, check };
}

test('content, broken pointers and pointers to content that nobody has are red; the rest of a change is not (design 6)', async () => {
  const { checkout, check } = await setup(makeLfsRepository);
  const old = '4d'.repeat(32);
  expect(await check({ 'greeting.txt': 'hello\n' })).toBeUndefined();
  expect(await check({ 'copy.png': pointerTo(old).replace('size 5', 'size 12345') })).toBeUndefined();
  expect(await check({ 'logo.png': 'PNG content\n' })).toMatchObject({
    name: 'lfs-pointers',
    status: 'failed',
    tail: expect.stringContaining('logo.png: content instead of a pointer'),
  });
  const unknown = 'ab'.repeat(32);
  expect((await check({ 'new.png': pointerTo(unknown) }))?.tail).toContain('new.png: a pointer to content that nobody');
  expect((await check({ 'new.png': `${pointerTo(old)}${'x'.repeat(9_000)}` }))?.tail).toContain('content instead');
  // The person put the content there with git-lfs.
  writeFiles(checkout, { [`.git/lfs/objects/ab/ab/${unknown}`]: 'real\n' });
  expect(await check({ 'new.png': pointerTo(unknown) })).toBeUndefined();
  expect(existsSync(`${checkout}-filter-ran`)).toBe(false);
});

test('a repository without git-lfs is not looked at further', async () => {
  const { check } = await setup(makeMakeRepository);
  expect(await check({ 'logo.png': 'PNG content\n' })).toBeUndefined();
});
