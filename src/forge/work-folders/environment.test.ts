import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeRepository,
  openAuthorFolder,
  openForgeWorld,
  writeFiles,
} from '../../../test/repositories/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { baseTip, configuredEnvironment, inspectWorkFolder, prepareWorkFolder, removeWorkFolder } from '../index.ts';
import { changedFiles, readOnlyPaths, takeBranch, workFolderEnvironment } from '../index.ts';
import { spareOf } from './spare-setup.ts';

async function setup(files: Record<string, string>, unTracked: Record<string, string> = {}) {
  const world = await openForgeWorld();
  const checkout = makeRepository(join(world.folder, 'app'), files);
  writeFiles(checkout, unTracked);
  const repository = await adoptRepository(world, checkout);
  const tip = (await baseTip(world.forge, repository)) ?? '';
  return { ...world, checkout, repository, tip };
}

test('each folder has ports, a database and a compose project of its own, and templates of them (sessions decision 9)', async () => {
  const world = await setup({
    'chantier.yml':
      'version: 1\nworkspace: { ports: [web, mail-ui], env: { SITE: "http://127.0.0.1:{port.web}/{database}/{port}", ODD: "{port.none} {x}" } }\nchecks: none\n',
  });
  const folder = await openAuthorFolder(world, world.repository, world.tip);
  const leased = { ...folder, ports: { default: 20_001, web: 20_002, 'mail-ui': 20_003 } };
  const env = workFolderEnvironment(leased, { env: configuredEnvironment(world.repository.config, leased) });
  expect(env).toMatchObject({
    PORT: '20001',
    CHANTIER_PORT_WEB: '20002',
    CHANTIER_PORT_MAIL_UI: '20003',
    CHANTIER_DATABASE_NAME: 'chantier_session_1',
    COMPOSE_PROJECT_NAME: 'chantier-session-1',
    SITE: 'http://127.0.0.1:20002/chantier_session_1/20001',
    ODD: '{port.none} {x}',
  });
  const other = { ...folder, ownerKey: 'session-2' };
  expect(workFolderEnvironment(other).CHANTIER_DATABASE_NAME).not.toBe(env.CHANTIER_DATABASE_NAME);
});

test('.worktreeinclude never takes what is tracked, what a symlink leads to, or more than its bounds', async () => {
  const world = await setup(
    {
      '.worktreeinclude': '# as in .gitignore\r\n*.env\n!secret.env\n/big.bin\nlinked/\ntracked.env\n',
      '.gitignore': '*.env\nbig.bin\n',
      'README.md': 'x\n',
    },
    { 'a.env': 'A=1\n', 'deep/er/b.env': 'B=2\n', 'secret.env': 'S=3\n' },
  );
  const { checkout, forge, repository, inside } = world;
  mkdirSync(join(world.folder, 'elsewhere'));
  writeFileSync(join(world.folder, 'elsewhere', 'c.env'), 'C=4\n');
  symlinkSync(join(world.folder, 'elsewhere'), join(checkout, 'linked'));
  writeFileSync(join(checkout, 'big.bin'), '');
  truncateSync(join(checkout, 'big.bin'), 65 * 1024 ** 2);
  const folder = await openAuthorFolder(world, repository, world.tip);
  const prepared = mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  expect(prepared.copied.toSorted()).toEqual(['a.env', 'deep/er/b.env']);
  expect(prepared.leftOut).toEqual(['big.bin']);
  expect(existsSync(join(folder.clone, 'linked'))).toBe(false);
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual([]);
});

test('workspace.link shows large files of the checkout read-only, and nothing outside of it or of its git folder', async () => {
  const world = await setup(
    {
      'chantier.yml': 'version: 1\nworkspace: { link: [models, data/one.bin, out, .git/config, gone] }\nchecks: none\n',
      '.gitignore': 'models/\n',
    },
    { 'models/weights.bin': 'w\n', 'data/one.bin': '1\n' },
  );
  symlinkSync('/etc', join(world.checkout, 'out'));
  const { forge, repository, inside, checkout } = world;
  const folder = await openAuthorFolder(world, repository, world.tip);
  const prepared = mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  expect(prepared.linked).toEqual(['models', 'data/one.bin']);
  expect(readlinkSync(join(folder.clone, 'models'))).toBe(join(checkout, 'models'));
  expect(readFileSync(join(folder.clone, 'models', 'weights.bin'), 'utf8')).toBe('w\n');
  expect(readOnlyPaths(repository, folder)).toEqual(
    expect.arrayContaining([join(checkout, 'models'), join(checkout, 'data/one.bin')]),
  );
  expect(readOnlyPaths(repository, folder)).toHaveLength(4);
  expect(readOnlyPaths(repository, { ...folder, purpose: 'reviewer' })).toHaveLength(2);
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual([]);
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(readFileSync(join(checkout, 'models', 'weights.bin'), 'utf8')).toBe('w\n');
});

test('what came from the checkout never enters the cache of set-ups; a slow copy is made ahead (X-12)', async () => {
  const world = await setup(
    {
      'chantier.yml':
        'version: 1\nworkspace: { setup: [[sh, make.sh]], cacheKey: [lock], copy: [conf/local.env] }\nchecks: none\n',
      'make.sh': 'mkdir -p deps && cp lock deps/\n',
      lock: '1\n',
      '.gitignore': 'deps/\nconf/\n',
    },
    { 'conf/local.env': 'SECRET=1\n' },
  );
  const { forge, repository, inside, checkout } = world;
  const open = async (key: string) => {
    const tip = (await baseTip(forge, repository)) ?? '';
    const folder = await openAuthorFolder(world, repository, tip, { ownerKey: key, branch: key });
    const prepared = mustOk(await prepareWorkFolder(forge, repository, folder, inside));
    return { folder, prepared };
  };
  // As a server leaves it that ended between the copy and the set-up.
  const torn = await openAuthorFolder(world, repository, world.tip, { ownerKey: 'one', branch: 'one' });
  writeFiles(torn.clone, { 'conf/local.env': 'SECRET=1\n' });
  const first = await open('one');
  expect(first.prepared).toMatchObject({ how: 'ran', copied: [] });
  writeFiles(checkout, { 'conf/local.env': 'SECRET=2\n' });
  const second = await open('two');
  expect(second.prepared).toMatchObject({ how: 'from-cache', copied: ['conf/local.env'] });
  expect(readFileSync(join(second.folder.clone, 'conf', 'local.env'), 'utf8')).toBe('SECRET=2\n');
  expect(readFileSync(join(second.folder.clone, 'deps', 'lock'), 'utf8')).toBe('1\n');
  // A copy that lies ready is taken by the next folder, once.
  const { stockSpare } = await import('./spare-setup.ts');
  const home = join(forge.folders.work, '.set-up', repository.id);
  const key = second.prepared.setupKey!;
  stockSpare(forge, { home, key, outputs: 1, owner: undefined });
  await forge.turns.run(home, async () => {});
  expect(existsSync(join(spareOf(home, key), '0', 'lock'))).toBe(true);
  const [third, fourth] = await Promise.all([open('three'), open('four')]);
  await forge.turns.run(home, async () => {});
  for (const { folder, prepared } of [third, fourth]) {
    expect(prepared.how).toBe('from-cache');
    writeFiles(folder.clone, { 'deps/lock': `of ${folder.ownerKey}\n` });
  }
  expect(readFileSync(join(third.folder.clone, 'deps', 'lock'), 'utf8')).toBe('of three\n');
  commitAll(checkout, 'nothing');
  expect(readFileSync(join((await open('five')).folder.clone, 'deps', 'lock'), 'utf8')).toBe('1\n');
});

test('a sparse folder holds what it names; what it leaves out never shows as deleted files (sessions case 61), and work outside is not lost', async () => {
  const world = await setup({
    'chantier.yml': 'version: 1\nworkspace: { sparse: [packages/web, tools] }\nchecks: none\n',
    'packages/web/a.txt': 'a\n',
    'packages/api/b.txt': 'b\n',
    'packages/package.json': '{}\n',
    'docs/c.txt': 'c\n',
    'tools/deep/d.txt': 'd\n',
    'root.txt': 'r\n',
  });
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  const has = (path: string): boolean => existsSync(join(folder.clone, path));
  expect(['packages/web/a.txt', 'packages/package.json', 'tools/deep/d.txt', 'root.txt'].every(has)).toBe(true);
  expect(['packages/api', 'docs'].some(has)).toBe(false);
  expect(git(folder.clone, 'status', '--porcelain')).toBe('');
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual([]);
  writeFiles(folder.clone, { 'packages/web/a.txt': 'A\n' });
  commitAll(folder.clone, 'A');
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  const change = await changedFiles(forge, repository, tip, taken.commit);
  expect(change.files.map((file) => `${file.status} ${file.path}`)).toEqual(['modified packages/web/a.txt']);
  writeFiles(folder.clone, { 'docs/c.txt': 'changed\n', 'docs/new.txt': 'new\n' });
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual([
    'docs/c.txt',
    'docs/new.txt',
  ]);
  const { rescueRefs } = mustOk(await removeWorkFolder(forge, repository, folder, inside));
  const saved = rescueRefs.find((ref) => ref.endsWith('/uncommitted'));
  // The folder is gone; the change still is what it was.
  expect(await changedFiles(forge, repository, tip, taken.commit)).toEqual(change);
  expect(git(repository.forgeDir, 'diff', '--name-only', tip, saved!)).toBe(
    'docs/c.txt\ndocs/new.txt\npackages/web/a.txt',
  );
});

test('removing a work folder once more brings nothing back, takes no neighbour and nothing of the forge with it (sessions case 72)', async () => {
  const world = await setup({ 'a.txt': 'a\n' });
  const { forge, repository, inside, tip, checkout } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  const neighbour = await openAuthorFolder(world, repository, tip, {
    ownerKey: 'session-2',
    branch: 'chantier/turing/issue-2',
  });
  writeFiles(folder.clone, { 'new.txt': 'new\n' });
  writeFiles(neighbour.clone, { 'own.txt': 'own\n' });
  const { rescueRefs } = mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(rescueRefs).toHaveLength(1);
  const refs = git(repository.forgeDir, 'for-each-ref');
  expect(mustOk(await removeWorkFolder(forge, repository, folder, inside))).toEqual({ rescueRefs: [] });
  expect(existsSync(folder.root)).toBe(false);
  expect(readdirSync(forge.folders.work).filter((name) => name.includes(folder.ownerKey))).toEqual([]);
  expect(git(repository.forgeDir, 'for-each-ref')).toBe(refs);
  expect(readFileSync(join(neighbour.clone, 'own.txt'), 'utf8')).toBe('own\n');
  expect(git(neighbour.clone, 'rev-parse', 'HEAD').trim()).toBe(tip);
  expect(git(checkout, 'status', '--porcelain')).toBe('');
});
