import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  commitAll,
  folderState,
  git,
  makeDirtyRepository,
  makeMakeRepository,
  makeNpmRepository,
  makeRemoteRepository,
  makeRepository,
  makeShallowRepository,
  openForgeWorld,
  syncBase,
  adoptRepository,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { baseTip, detectRepository, findGit, openForge } from './index.ts';

async function setup() {
  const world = await openForgeWorld();
  return {
    ...world,
    path: join(world.folder, 'app'),
    detect: (path: string, base?: string) => detectRepository(world.forge, path, base === undefined ? {} : { base }),
  };
}

test('refuses a folder that is no git repository, saying what to do', async () => {
  const { detect, path } = await setup();
  mkdirSync(path);
  const refused = await detect(path);
  expect(refused).toMatchObject({ refusal: { kind: 'invalid', code: 'not_a_repository' } });
  expect(!refused.ok && refused.refusal.message).toContain('git init');
  expect(await detect(join(path, 'nowhere'))).toMatchObject({ refusal: { kind: 'not-found', code: 'path_missing' } });
});

test('refuses a bare repository, one without commits, a detached HEAD and a base that is missing', async () => {
  const { detect, path, folder } = await setup();
  mkdirSync(path);
  git(path, 'init', '--quiet', '--bare', join(folder, 'bare.git'));
  expect(await detect(join(folder, 'bare.git'))).toMatchObject({ refusal: { code: 'bare_repository' } });
  git(path, 'init', '--quiet', '--initial-branch=main');
  expect(await detect(path)).toMatchObject({ refusal: { code: 'no_commits' } });
  commitAll(path, 'first');
  const missing = await detect(path, 'develop');
  expect(missing).toMatchObject({ refusal: { kind: 'not-found', code: 'base_missing' } });
  expect(!missing.ok && missing.refusal.message).toContain('Branches there: main');
  git(path, 'checkout', '--quiet', '--detach');
  expect(await detect(path)).toMatchObject({ refusal: { code: 'detached_head' } });
  expect(mustOk(await detect(path, 'main')).base).toBe('main');
});

test('refuses a git that is missing, does not run, or is older than 2.38', async () => {
  const { folder, forge } = await setup();
  const old = join(folder, 'git');
  writeFileSync(old, '#!/bin/sh\necho git version 2.37.9\n');
  chmodSync(old, 0o755);
  const refused = await openForge({ folders: forge.folders, gitPath: old });
  expect(refused).toMatchObject({ refusal: { code: 'git_too_old', facts: { found: '2.37.9', needed: '2.38.0' } } });
  expect(await findGit({ searchPath: 'relative:/nowhere' })).toMatchObject({ refusal: { code: 'git_missing' } });
  writeFileSync(old, '#!/bin/sh\nexit 3\n');
  expect(await findGit({ path: old })).toMatchObject({ refusal: { code: 'git_missing' } });
});

test('finds base, mode, dirty files and stash of a checkout, and writes nothing to find them', async () => {
  const { detect, path } = await setup();
  makeDirtyRepository(path);
  const before = folderState(path);
  mkdirSync(join(path, 'build', 'deep'), { recursive: true });
  const found = mustOk(await detect(join(path, 'build', 'deep')));
  expect(found).toMatchObject({
    name: 'app',
    base: 'main',
    headBranch: 'main',
    mode: 'base',
    configSource: 'inferred',
  });
  expect(found.dirty).toEqual({
    staged: ['staged.txt'],
    unstaged: ['README.md'],
    untracked: ['untracked.txt'],
    unmerged: [],
    stashCount: 1,
    isClean: false,
  });
  expect(found.config.checks).toMatchObject([{ name: 'check', run: ['make', 'check'] }]);
  expect(found.explanations).toEqual([{ what: 'check check: make check', why: 'Makefile has a target check' }]);
  expect(folderState(path, ['build/deep'])).toEqual(before);
});

test('a touched file that was not edited does not count as dirty, and the index is not refreshed', async () => {
  const { detect, path } = await setup();
  makeMakeRepository(path);
  writeFiles(path, { 'greeting.txt': 'hello world\n' });
  const before = folderState(path);
  expect(mustOk(await detect(path)).dirty.isClean).toBe(true);
  expect(folderState(path)).toEqual(before);
});

test('a remote without forge means mode branch, and its default branch is the base', async () => {
  const { detect, path } = await setup();
  makeRemoteRepository(path);
  git(path, 'checkout', '--quiet', '-b', 'feature');
  git(path, 'remote', 'set-url', 'origin', 'https://user:hunter2@git.example.org/team/app.git');
  const found = mustOk(await detect(path));
  expect(found).toMatchObject({ base: 'main', headBranch: 'feature', mode: 'branch', github: undefined });
  expect(found.remotes).toEqual([{ name: 'origin', url: 'https://git.example.org/team/app.git' }]);
  git(path, 'remote', 'set-url', 'origin', 'git@github.com:team/app.git');
  expect(mustOk(await detect(path)).github).toEqual({ slug: 'team/app' });
});

test('finds set-up and checks of an npm repository without a line of configuration', async () => {
  const { detect, path } = await setup();
  makeNpmRepository(path);
  const { config } = mustOk(await detect(path));
  expect(config.workspace).toMatchObject({
    setup: [['npm', 'ci', '--no-audit', '--no-fund']],
    cacheKey: ['package.json', 'package-lock.json'],
    isCacheable: true,
  });
  expect(config.checks).toMatchObject([{ name: 'test', run: ['npm', 'test'] }]);
});

test.each([
  [
    { 'package.json': '{"scripts":{"test":"vitest"}}', 'pnpm-lock.yaml': '' },
    [['pnpm', 'install', '--frozen-lockfile']],
    ['pnpm', 'test'],
  ],
  [
    { 'package.json': '{"scripts":{"test":"jest"},"packageManager":"yarn@4.1.0"}', 'yarn.lock': '' },
    [['yarn', 'install', '--immutable']],
    ['yarn', 'test'],
  ],
  [
    { 'package.json': '{"scripts":{"test":"jest"}}', 'yarn.lock': '' },
    [['yarn', 'install', '--frozen-lockfile']],
    ['yarn', 'test'],
  ],
  [{ 'package.json': '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' }, [], undefined],
  [{ 'Cargo.toml': '', 'Cargo.lock': '' }, [['cargo', 'fetch', '--locked']], ['cargo', 'test', '--offline']],
  [
    { 'pyproject.toml': '[tool.pytest.ini_options]', 'uv.lock': '' },
    [['uv', 'sync', '--frozen']],
    ['uv', 'run', '--frozen', 'python', '-m', 'pytest', '-q'],
  ],
  [
    { 'manage.py': '', 'requirements.txt': 'django' },
    [
      ['python3', '-m', 'venv', '.venv'],
      ['.venv/bin/pip', 'install', '-r', 'requirements.txt'],
    ],
    ['.venv/bin/python', 'manage.py', 'test'],
  ],
  [{ 'go.mod': 'module x', 'go.sum': '' }, [['go', 'mod', 'download']], ['go', 'test', './...']],
  [{ GNUmakefile: 'all:\n\ntest: all\n\ttrue\n' }, [], ['make', 'test']],
  [{ Makefile: 'test := x\nall:\n' }, [], undefined],
])('infers from %j', async (files, commands, check) => {
  const { detect, path } = await setup();
  makeRepository(path, files);
  const { config } = mustOk(await detect(path));
  expect(config.workspace.setup).toEqual(commands);
  expect(config.checks === 'none' ? 'none' : config.checks[0]?.run).toEqual(check);
});

test('reads chantier.yml of the base tip only, never of another branch or of the work tree', async () => {
  const { detect, path } = await setup();
  makeRepository(path, { 'chantier.yml': 'version: 1\nchecks: none\n' });
  git(path, 'checkout', '--quiet', '-b', 'agent');
  writeFiles(path, { 'chantier.yml': 'version: 1\nchecks: [{ name: evil, run: [evil] }]\n' });
  commitAll(path, 'evil');
  writeFiles(path, { 'chantier.yml': 'version: 1\nchecks: [{ name: worse, run: [worse] }]\n' });
  const found = mustOk(await detect(path, 'main'));
  expect(found).toMatchObject({ configSource: 'file', config: { checks: 'none' } });
});

test('refuses an invalid chantier.yml with line and key', async () => {
  const { detect, path } = await setup();
  makeRepository(path, {
    'chantier.yml': 'version: 1\nchecks:\n  - name: test\n    run: npm test\n    timeout: 10\nsandbox: none\n',
  });
  const refused = await detect(path);
  expect(refused).toMatchObject({ refusal: { code: 'invalid_repository_config' } });
  const message = refused.ok ? '' : refused.refusal.message;
  expect(message).toContain('line 4: checks.0.run');
  expect(message).toContain('line 5: checks.0.timeout');
  expect(message).toContain('line 6: sandbox is set for the instance only');
});

test('a chantier.yml that is a symlink is not followed', async () => {
  const { detect, path } = await setup();
  makeMakeRepository(path);
  symlinkSync('/etc/hostname', join(path, 'chantier.yml'));
  commitAll(path, 'a link');
  expect(await detect(path)).toMatchObject({ refusal: { code: 'invalid_repository_config' } });
});

test('works from a linked work tree and from a shallow clone', async () => {
  const { detect, path, folder, forge } = await setup();
  makeShallowRepository(path);
  const repository = await adoptRepository({ forge }, path);
  expect(await baseTip(forge, repository)).toBe(git(path, 'rev-parse', 'main'));
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'current' });
  git(path, 'worktree', 'add', '--quiet', '-b', 'side', join(folder, 'linked'));
  const linked = mustOk(await detect(join(folder, 'linked'), 'side'));
  expect(linked).toMatchObject({ name: 'linked', base: 'side', headBranch: 'side' });
});

test('what a person ignores in all their repositories is not named as untracked', async () => {
  const { path, folder, forge } = await setup();
  makeMakeRepository(path);
  writeFiles(path, { '.idea/x.xml': 'x\n', 'real.txt': 'x\n' });
  const home = join(folder, 'person');
  writeFiles(home, {
    '.gitconfig': '[core]\n\texcludesFile = ~/ignore\n\tfsmonitor = /bin/false\n[include]\n\tpath = /etc/hostname\n',
    ignore: '.idea/\n',
  });
  const again = mustOk(await openForge({ folders: forge.folders, personHome: home }));
  expect(mustOk(await detectRepository(again, path)).dirty.untracked).toEqual(['real.txt']);
  expect(again.person.settings).toEqual([]);
});
