import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeFailingSetupRepository,
  makeMakeRepository,
  makeNpmRepository,
  makeRepository,
  openAuthorFolder,
  openForgeWorld,
  turing,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import {
  baseTip,
  buildCandidate,
  createWorkFolder,
  importBase,
  inspectWorkFolder,
  prepareWorkFolder,
  removeWorkFolder,
  type Repository,
  runChecks,
  takeBranch,
} from './index.ts';

async function setup(make: (folder: string) => string) {
  const world = await openForgeWorld();
  const checkout = make(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const tip = (await baseTip(world.forge, repository)) ?? '';
  return { ...world, checkout, repository, tip };
}

const withConfig = (repository: Repository, change: Partial<Repository['config']>): Repository => ({
  ...repository,
  config: { ...repository.config, ...change },
});

test(
  'npm: dependencies are installed before an agent comes, the second folder takes them from the cache, checks pass on the candidate',
  { timeout: 60_000 },
  async () => {
    const world = await setup(makeNpmRepository);
    const { forge, repository, inside, tip } = world;
    const folder = await openAuthorFolder(world, repository, tip);
    const first = mustOk(await prepareWorkFolder(forge, repository, folder, inside));
    expect(first).toMatchObject({ how: 'ran', alteredFiles: [] });
    expect(existsSync(join(folder.clone, 'node_modules', 'greet', 'index.js'))).toBe(true);
    expect(mustOk(await prepareWorkFolder(forge, repository, folder, inside))).toEqual(first);

    writeFiles(folder.clone, {
      'index.js': "const greet = require('greet');\nmodule.exports = (name) => greet(name).trim();\n",
    });
    commitAll(folder.clone, 'Trim');
    const taken = mustOk(await takeBranch(forge, repository, folder, inside));
    const candidate = mustOk(
      await buildCandidate(forge, repository, {
        landingId: 'landing-1',
        head: taken.commit,
        method: 'squash',
        message: 'Trim',
        author: turing,
        dateMs: 0,
      }),
    );
    const place = await createWorkFolder(forge, repository, {
      ownerKey: 'landing-1',
      purpose: 'candidate',
      startCommit: candidate.commit,
      identity: turing,
      sandbox: inside.sandbox,
    });
    const second = mustOk(await prepareWorkFolder(forge, repository, place, inside));
    expect(second).toMatchObject({ how: 'from-cache', setupKey: first.setupKey });
    expect(statSync(join(place.clone, 'node_modules', 'greet', 'index.js')).nlink).toBe(1);
    const request = { ...inside, key: 'checks-1', commit: candidate.commit, changedPaths: ['index.js'] };
    const report = mustOk(await runChecks(forge, repository, place, request));
    expect(report).toMatchObject({
      said: 'checks',
      allPassed: true,
      results: [{ name: 'test', status: 'passed', exitCode: 0 }],
    });
    expect(readFileSync(report.results[0]?.logPath ?? '', 'utf8')).toContain('1 test passed');
    expect(mustOk(await runChecks(forge, repository, place, request))).toEqual(report);
    mustOk(await removeWorkFolder(forge, repository, place, inside));
  },
);

test('a set-up step that fails is a refusal with the end of its log, and nothing is half done', async () => {
  const world = await setup(makeFailingSetupRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  const refused = await prepareWorkFolder(forge, repository, folder, inside);
  expect(refused).toMatchObject({
    refusal: {
      kind: 'wrong-state',
      code: 'setup_failed',
      facts: { step: 1, exitCode: 7, command: ['sh', './setup.sh'] },
    },
  });
  expect(!refused.ok && refused.refusal.message).toContain('registry says no');
  expect(existsSync(join(folder.root, 'prepared.json'))).toBe(false);
  expect(mustOk(await removeWorkFolder(forge, repository, folder, inside))).toEqual({ rescueRefs: [] });
});

test('refuses a program that is not installed, and commands that nobody trusted', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, inside, tip } = world;
  const workspace = { ...world.repository.config.workspace, setup: [['no-such-program', 'x']] };
  const repository = withConfig(world.repository, { workspace });
  const folder = await openAuthorFolder(world, repository, tip);
  expect(await prepareWorkFolder(forge, repository, folder, inside)).toMatchObject({
    refusal: { code: 'program_missing', facts: { program: 'no-such-program' } },
  });
  expect(await prepareWorkFolder(forge, { ...repository, isTrusted: false }, folder, inside)).toMatchObject({
    refusal: { code: 'not_trusted' },
  });
  const request = { ...inside, key: 'k', commit: tip, changedPaths: [] };
  expect(await runChecks(forge, { ...repository, isTrusted: false }, folder, request)).toMatchObject({
    refusal: { code: 'not_trusted' },
  });
});

test('what an agent’s branch made never enters the cache of set-ups', async () => {
  const world = await setup((folder) =>
    makeRepository(folder, {
      'chantier.yml': 'version: 1\nworkspace: { setup: [[sh, make-it.sh]], cacheKey: [lock] }\nchecks: none\n',
      'make-it.sh': 'mkdir made; cp lock made/\n',
      lock: '1\n',
    }),
  );
  const { forge, repository, inside, tip } = world;
  const author = await openAuthorFolder(world, repository, tip);
  writeFiles(author.clone, { 'make-it.sh': 'mkdir made; echo poison > made/lock\n' });
  commitAll(author.clone, 'Poison');
  const { commit } = mustOk(await takeBranch(forge, repository, author, inside));
  const poisoned = await openAuthorFolder(world, repository, commit, { ownerKey: 'session-2', branch: 'two' });
  expect(mustOk(await prepareWorkFolder(forge, repository, poisoned, inside)).how).toBe('ran');
  const clean = await openAuthorFolder(world, repository, tip, { ownerKey: 'session-3', branch: 'three' });
  expect(mustOk(await prepareWorkFolder(forge, repository, clean, inside)).how).toBe('ran');
  expect(readFileSync(join(clean.clone, 'made', 'lock'), 'utf8')).toBe('1\n');
  const cached = await openAuthorFolder(world, repository, tip, { ownerKey: 'session-4', branch: 'four' });
  expect(mustOk(await prepareWorkFolder(forge, repository, cached, inside)).how).toBe('from-cache');
});

test('what set-up leaves outside of .gitignore is neither dirty nor committed by an agent', async () => {
  const world = await setup((folder) =>
    makeRepository(folder, {
      'chantier.yml':
        'version: 1\nworkspace: { setup: [[sh, -c, "mkdir made; echo x > made/x; echo y > one[1].txt"]] }\n',
    }),
  );
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside))).toMatchObject({
    isClean: true,
    dirty: [],
    isOnBranch: true,
    ahead: 0,
  });
  writeFiles(folder.clone, { 'one1.txt': 'of the agent\n' });
  expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual(['one1.txt']);
});

test('files that the team names are copied from the operator’s checkout, symlinks are not followed', async () => {
  const world = await setup((folder) => {
    makeRepository(folder, {
      'chantier.yml': 'version: 1\nworkspace: { copy: [.env.test, linked.env, not-ignored.env] }\nchecks: none\n',
      '.worktreeinclude': '# local\n*.local\n',
      '.gitignore': '.env*\n*.local\nlinked.env\n',
    });
    writeFiles(folder, {
      '.env.test': 'A=1\n',
      'not-ignored.env': 'C=3\n',
      'sub/dev.local': 'B=2\n',
      'other.txt': 'not named\n',
    });
    return folder;
  });
  symlinkSync('/etc/hostname', join(world.checkout, 'linked.env'));
  const folder = await openAuthorFolder(world, world.repository, world.tip);
  const prepared = mustOk(await prepareWorkFolder(world.forge, world.repository, folder, world.inside));
  expect(prepared.copied.toSorted()).toEqual(['.env.test', 'not-ignored.env', 'sub/dev.local']);
  // A copy that no .gitignore covers must not be committed by an agent's `git add --all`.
  expect(mustOk(await inspectWorkFolder(world.forge, world.repository, folder, world.inside)).dirty).toEqual([]);
  expect(readFileSync(join(folder.clone, 'sub', 'dev.local'), 'utf8')).toBe('B=2\n');
});

test('field case 6: neither checks nor `checks: none` blocks; `checks: none` is an answer', async () => {
  const world = await setup((folder) => makeRepository(folder, { 'README.md': 'nothing to check\n' }));
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  const request = { ...inside, key: 'k', commit: tip, changedPaths: ['README.md'] };
  expect(await runChecks(forge, repository, folder, request)).toMatchObject({
    refusal: { kind: 'not-landed', code: 'no_checks' },
  });
  expect(mustOk(await runChecks(forge, withConfig(repository, { checks: 'none' }), folder, request))).toMatchObject({
    said: 'none',
    allPassed: true,
  });
});

test('checks report failures, time-outs, paths that do not apply, and their logs up to the cap', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, inside, tip } = world;
  const common = { timeout: 20_000, maxOutput: 65_536, network: false };
  const repository = withConfig(world.repository, {
    checks: [
      { name: 'lint', run: ['sh', '-c', 'echo wrong in line 3; exit 2'], ...common },
      { name: 'slow', run: ['sleep', '60'], ...common, timeout: 200 },
      { name: 'docs', run: ['true'], paths: ['docs/**', '*.rst'], ...common },
      { name: 'flood', run: ['sh', '-c', 'head -c 1000000 /dev/zero'], ...common },
      { name: 'where', run: ['sh', '-c', 'test "$(basename "$PWD")" = sub'], cwd: 'sub', ...common },
    ],
  });
  const folder = await openAuthorFolder(world, repository, tip);
  writeFiles(folder.clone, { 'sub/x': '' });
  const report = mustOk(
    await runChecks(forge, repository, folder, { ...inside, key: 'k', commit: tip, changedPaths: ['src/a.ts'] }),
  );
  expect(report.allPassed).toBe(false);
  expect(report.results.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'lint failed',
    'slow timed-out',
    'docs skipped',
    'flood passed',
    'where passed',
  ]);
  expect(report.results[0]?.exitCode).toBe(2);
  expect(report.results[0]?.tail).toContain('wrong in line 3');
  expect(statSync(report.results[3]?.logPath ?? '').size).toBeLessThanOrEqual(65_536);
});

test('looking again and again follows a folder: edits, commits, rewrites, other branches', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  const look = async () => mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  expect(await look()).toMatchObject({ isClean: true, ahead: 0, headCommit: tip });
  writeFiles(folder.clone, { 'greeting.txt': 'hello one\n', 'more.txt': 'more\n' });
  expect((await look()).dirty).toEqual(['greeting.txt', 'more.txt']);
  const one = commitAll(folder.clone, 'one');
  expect(await look()).toMatchObject({ isClean: true, ahead: 1, branchCommit: one });
  git(folder.clone, 'rm', '--quiet', 'more.txt');
  writeFiles(folder.clone, { 'greeting.txt': 'hello two\n' });
  git(folder.clone, 'commit', '--quiet', '--all', '--amend', '-m', 'two');
  expect(await look()).toMatchObject({ isClean: true, ahead: 1, isOnBranch: true });
  git(folder.clone, 'checkout', '--quiet', '--detach', tip);
  writeFiles(folder.clone, { 'greeting.txt': 'hello three\n' });
  expect(await look()).toMatchObject({ dirty: ['greeting.txt'], headBranch: undefined, isOnBranch: false, ahead: 0 });
});

test('steps on one folder at the same time take turns; a branch that was changed by hand never leaves them at odds (sessions case 60)', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip, { branch: 'a' });
  writeFiles(folder.clone, { 'x.txt': 'x\n' });
  const commit = commitAll(folder.clone, 'x');
  const all = await Promise.all([
    takeBranch(forge, repository, folder, inside),
    inspectWorkFolder(forge, repository, folder, inside),
    inspectWorkFolder(forge, repository, folder, inside),
    importBase(forge, repository),
    importBase(forge, repository),
  ]);
  expect(all.map((one) => one.ok)).toEqual([true, true, true, true, true]);
  git(folder.clone, 'branch', '--quiet', '-m', 'a', 'a-side');
  git(folder.clone, 'branch', '--quiet', 'a/b');
  const facts = mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  expect(facts).toMatchObject({ headBranch: 'a-side', headCommit: commit, branchCommit: undefined });
});

test('teardown runs inside before a folder goes, after its work is safe', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, inside, tip, folder: outside } = world;
  const teardown = [['no-such-program'], ['sh', '-c', `rm work.txt; echo "$COMPOSE_PROJECT_NAME" > ${outside}/down`]];
  const repository = withConfig(world.repository, {
    workspace: { ...world.repository.config.workspace, teardown },
  });
  const folder = await openAuthorFolder(world, repository, tip);
  mustOk(await prepareWorkFolder(forge, repository, folder, inside));
  writeFiles(folder.clone, { 'work.txt': 'work\n' });
  const { rescueRefs } = mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(rescueRefs).toHaveLength(1);
  expect(readFileSync(join(outside, 'down'), 'utf8')).toBe('chantier-session-1\n');
});

test('creating and removing a folder may be repeated at any point', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  writeFileSync(join(folder.clone, 'mine.txt'), 'of the agent\n');
  expect(await openAuthorFolder(world, repository, tip)).toEqual(folder);
  expect(readFileSync(join(folder.clone, 'mine.txt'), 'utf8')).toBe('of the agent\n');
  expect(git(folder.clone, 'log', '-1', '--format=%s')).toBe('first');
  expect(git(folder.clone, 'config', 'user.name')).toBe('turing');
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(existsSync(folder.root)).toBe(false);
});

test('a clone that its agent broke is a refusal, and the folder stays', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  writeFileSync(join(folder.clone, '.git', 'HEAD'), 'rubbish');
  expect(await takeBranch(forge, repository, folder, inside)).toMatchObject({ refusal: { code: 'clone_unreadable' } });
  expect(await removeWorkFolder(forge, repository, folder, inside)).toMatchObject({
    refusal: { code: 'clone_unreadable' },
  });
  expect(existsSync(folder.clone)).toBe(true);
});

test('objects that git’s own check refuses are not taken over', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  const blob = git(folder.clone, 'rev-parse', 'HEAD:README.md');
  const entry = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]);
  const tree = execFileSync('git', ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], {
    cwd: folder.clone,
    input: entry,
    encoding: 'utf8',
  }).trim();
  const commit = git(folder.clone, 'commit-tree', tree, '-p', 'HEAD', '-m', 'hostile');
  git(folder.clone, 'update-ref', `refs/heads/${folder.branch}`, commit);
  const refused = await takeBranch(forge, repository, folder, inside);
  expect(refused).toMatchObject({ refusal: { code: 'clone_unreadable' } });
  expect(!refused.ok && refused.refusal.message).toContain('hasDotgit');
});

test('a branch that the author deleted is said to be lost', async () => {
  const world = await setup(makeMakeRepository);
  const { forge, repository, inside, tip } = world;
  const folder = await openAuthorFolder(world, repository, tip);
  git(folder.clone, 'checkout', '--quiet', '-b', 'elsewhere');
  git(folder.clone, 'branch', '--quiet', '-D', folder.branch ?? '');
  expect(await takeBranch(forge, repository, folder, inside)).toMatchObject({ refusal: { code: 'branch_lost' } });
});
