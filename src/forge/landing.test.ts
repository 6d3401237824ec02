import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeMakeRepository,
  makeRemoteRepository,
  openAuthorFolder,
  openForgeWorld,
  syncBase,
  turing,
  writeFiles,
} from '../../test/repositories/index.ts';
import { isRefused, mustOk } from '../kernel/index.ts';
import {
  applyBaseSync,
  baseTip,
  buildCandidate,
  buildRevert,
  changedFiles,
  fastForwardOperator,
  inspectWorkFolder,
  landCandidate,
  listRescueRefs,
  patchOf,
  publishReviewedBranch,
  removeWorkFolder,
  resolveRef,
  takeBranch,
  verifyLanding,
} from './index.ts';

async function setup(make = makeMakeRepository) {
  const world = await openForgeWorld();
  const checkout = make(join(world.folder, 'app'));
  const repository = await adoptRepository(world, checkout);
  const tip = (await baseTip(world.forge, repository)) ?? '';
  return { ...world, checkout, repository, tip };
}

/** A work folder whose author has committed `files`, taken into the forge. */
async function deliver(
  world: Awaited<ReturnType<typeof setup>>,
  files: Record<string, string>,
  ownerKey = 'session-1',
  branch = `chantier/turing/${ownerKey}`,
) {
  const { forge, repository, inside } = world;
  const start = (await baseTip(forge, repository)) ?? '';
  const folder = await openAuthorFolder(world, repository, start, { ownerKey, branch });
  writeFiles(folder.clone, files);
  commitAll(folder.clone, 'A change');
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  return { folder, taken };
}

const landing = (head: string, landingId = 'landing-1') =>
  ({
    landingId,
    head,
    method: 'squash',
    message: 'Greet the moon\n\nBecause it is there.',
    author: turing,
    dateMs: Date.UTC(2026, 0, 1),
  }) as const;

test('a change goes from a work folder to the base and to the operator’s checkout, with our trailer (R-41)', async () => {
  const world = await setup();
  const { forge, repository, checkout, tip } = world;
  const { taken } = await deliver(world, { 'greeting.txt': 'hello moon\n' });
  expect(taken).toMatchObject({ ahead: 1, previous: undefined, isFastForward: true });

  const candidate = mustOk(await buildCandidate(forge, repository, landing(taken.commit)));
  expect(candidate.baseTip).toBe(tip);
  expect(mustOk(await buildCandidate(forge, repository, landing(taken.commit))).commit).toBe(candidate.commit);

  expect(mustOk(await landCandidate(forge, repository, candidate, taken.branch))).toEqual({
    commit: candidate.commit,
    wasAlready: false,
  });
  expect(mustOk(await landCandidate(forge, repository, candidate, taken.branch)).wasAlready).toBe(true);
  expect(await verifyLanding(forge, repository, candidate)).toMatchObject({ isLanded: true, treeMatches: true });

  expect(await fastForwardOperator(forge, repository, candidate.commit)).toMatchObject({
    outcome: 'forwarded',
    from: tip,
    to: candidate.commit,
    files: 1,
  });
  expect(git(checkout, 'status', '--porcelain')).toBe('');
  expect(git(checkout, 'rev-parse', 'main')).toBe(candidate.commit);
  expect(git(checkout, 'log', '-1', '--format=%(trailers:key=Chantier-Landing,valueonly)').trim()).toBe('landing-1');
  expect(git(checkout, 'log', '-1', '--format=%an <%ae>')).toBe('turing <turing@agents.invalid>');
  expect(git(checkout, 'fsck', '--strict')).toBe('');
  expect(await fastForwardOperator(forge, repository, candidate.commit)).toEqual({
    outcome: 'already',
    to: candidate.commit,
  });
});

test('refuses to land when the base moved, and lands the next candidate on the new tip', async () => {
  const world = await setup();
  const { forge, repository } = world;
  const one = await deliver(world, { 'one.txt': '1\n' }, 'session-1');
  const two = await deliver(world, { 'two.txt': '2\n' }, 'session-2');
  const first = mustOk(await buildCandidate(forge, repository, landing(one.taken.commit, 'landing-1')));
  const second = mustOk(await buildCandidate(forge, repository, landing(two.taken.commit, 'landing-2')));
  mustOk(await landCandidate(forge, repository, first, one.taken.branch));
  expect(await landCandidate(forge, repository, second, two.taken.branch)).toMatchObject({
    refusal: { code: 'base_moved' },
  });
  expect(await verifyLanding(forge, repository, second)).toMatchObject({ isLanded: false });
  const again = mustOk(await buildCandidate(forge, repository, landing(two.taken.commit, 'landing-2')));
  expect(again.baseTip).toBe(first.commit);
  mustOk(await landCandidate(forge, repository, again, two.taken.branch));
  expect(git(repository.forgeDir, 'show', '--format=', '--name-only', 'main')).toBe('two.txt');
});

test('R-20, field cases 10 and 12: refuses to land a head that is not the reviewed one any more', async () => {
  const world = await setup();
  const { forge, repository, inside } = world;
  const { folder, taken } = await deliver(world, { 'one.txt': '1\n' });
  const candidate = mustOk(await buildCandidate(forge, repository, landing(taken.commit)));
  writeFiles(folder.clone, { 'one.txt': 'unreviewed\n' });
  commitAll(folder.clone, 'One more thing');
  mustOk(await takeBranch(forge, repository, folder, inside));
  expect(await landCandidate(forge, repository, candidate, taken.branch)).toMatchObject({
    refusal: { code: 'head_moved' },
  });
  expect(await baseTip(forge, repository)).toBe(world.tip);
});

test('names the files of a conflict and lands nothing', async () => {
  const world = await setup();
  const { forge, repository } = world;
  const one = await deliver(world, { 'greeting.txt': 'hello one\n' }, 'session-1');
  const two = await deliver(world, { 'greeting.txt': 'hello two\n' }, 'session-2');
  mustOk(
    await landCandidate(forge, repository, mustOk(await buildCandidate(forge, repository, landing(one.taken.commit)))),
  );
  const refused = await buildCandidate(forge, repository, landing(two.taken.commit, 'landing-2'));
  expect(refused).toMatchObject({ refusal: { code: 'merge_conflict', facts: { files: ['greeting.txt'] } } });
});

test('decision 5: refuses agent commits that carry our trailer, and drops it from messages', async () => {
  const world = await setup();
  const { forge, repository, inside } = world;
  const { folder } = await deliver(world, { 'one.txt': '1\n' });
  git(folder.clone, 'commit', '--quiet', '--amend', '-m', 'Sly\n\nchantier-landing: landing-0');
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  expect(taken.isFastForward).toBe(false);
  expect(await buildCandidate(forge, repository, landing(taken.commit))).toMatchObject({
    refusal: { code: 'forged_trailer' },
  });
  git(folder.clone, 'commit', '--quiet', '--amend', '-m', 'Honest');
  const honest = mustOk(await takeBranch(forge, repository, folder, inside));
  const message = 'Sly title\n\nChantier-Landing: landing-0\nbody';
  const candidate = mustOk(await buildCandidate(forge, repository, { ...landing(honest.commit), message }));
  expect(git(repository.forgeDir, 'log', '-1', '--format=%B', candidate.commit)).toBe(
    'Sly title\n\nbody\n\nChantier-Landing: landing-1',
  );
});

test('the tree check finds a landing that is not what an honest merge gives (field cases 1 and 2)', async () => {
  const world = await setup();
  const { forge, repository } = world;
  const one = await deliver(world, { 'one.txt': '1\n' }, 'session-1');
  mustOk(
    await landCandidate(forge, repository, mustOk(await buildCandidate(forge, repository, landing(one.taken.commit)))),
  );
  const two = await deliver(world, { 'two.txt': '2\n' }, 'session-2');
  // A squash that was cut from a stale base: it silently takes one.txt away.
  const staleTree = git(repository.forgeDir, 'rev-parse', `${world.tip}^{tree}`);
  const base = (await baseTip(forge, repository)) ?? '';
  const stale = git(repository.forgeDir, 'commit-tree', staleTree, '-p', base, '-m', 'stale');
  expect(await verifyLanding(forge, repository, { commit: stale, head: two.taken.commit })).toMatchObject({
    treeMatches: false,
  });
});

test('says when there is nothing to land', async () => {
  const world = await setup();
  const { forge, repository } = world;
  const { taken } = await deliver(world, { 'one.txt': '1\n' });
  mustOk(
    await landCandidate(forge, repository, mustOk(await buildCandidate(forge, repository, landing(taken.commit)))),
  );
  expect(await buildCandidate(forge, repository, landing(taken.commit, 'landing-2'))).toMatchObject({
    refusal: { code: 'nothing_to_land' },
  });
});

test('mode branch: the reviewed change can be fetched and pushed by exactly the printed commands', async () => {
  const world = await setup(makeRemoteRepository);
  const { forge, repository, checkout } = world;
  expect(repository.mode).toBe('branch');
  const { taken } = await deliver(world, { 'one.txt': '1\n' });
  const candidate = mustOk(await buildCandidate(forge, repository, landing(taken.commit)));
  const reviewed = mustOk(await publishReviewedBranch(forge, repository, candidate, taken.branch));
  expect(mustOk(await publishReviewedBranch(forge, repository, candidate, taken.branch))).toEqual(reviewed);
  for (const command of reviewed.commands) git(checkout, ...command.split(' ').slice(3));
  expect(git(`${checkout}-remote.git`, 'rev-parse', taken.branch)).toBe(candidate.commit);
  expect(await baseTip(forge, repository)).toBe(world.tip);
});

test('a revert takes exactly the landed change back, also after later landings (decision 8)', async () => {
  const world = await setup();
  const { forge, repository } = world;
  const one = await deliver(world, { 'one.txt': '1\n' }, 'session-1');
  const landed = mustOk(await buildCandidate(forge, repository, landing(one.taken.commit)));
  mustOk(await landCandidate(forge, repository, landed));
  const two = await deliver(world, { 'two.txt': '2\n' }, 'session-2');
  mustOk(
    await landCandidate(
      forge,
      repository,
      mustOk(await buildCandidate(forge, repository, landing(two.taken.commit, 'landing-2'))),
    ),
  );
  const revert = mustOk(
    await buildRevert(forge, repository, {
      landed: landed.commit,
      branch: 'chantier/revert/landing-1',
      message: 'Revert',
      author: turing,
      dateMs: 0,
    }),
  );
  mustOk(
    await landCandidate(
      forge,
      repository,
      mustOk(await buildCandidate(forge, repository, landing(revert.commit, 'landing-3'))),
      revert.branch,
    ),
  );
  expect(git(repository.forgeDir, 'ls-tree', '--name-only', 'main').split('\n')).not.toContain('one.txt');
  expect(git(repository.forgeDir, 'ls-tree', '--name-only', 'main').split('\n')).toContain('two.txt');
});

test('a base of the operator that moved is taken over; a diverged one is merged; a conflict is said', async () => {
  const world = await setup();
  const { forge, repository, checkout } = world;
  writeFiles(checkout, { 'mine.txt': 'mine\n' });
  const mine = commitAll(checkout, 'Mine');
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'move', how: 'fast-forward', to: mine });
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'current', base: mine });

  const one = await deliver(world, { 'one.txt': '1\n' });
  const landed = mustOk(await buildCandidate(forge, repository, landing(one.taken.commit)));
  mustOk(await landCandidate(forge, repository, landed));
  writeFiles(checkout, { 'mine.txt': 'mine again\n' });
  const again = commitAll(checkout, 'Mine again');
  const sync = await syncBase(forge, repository);
  expect(sync).toMatchObject({ kind: 'move', how: 'merge', from: landed.commit, operator: again });
  expect(git(repository.forgeDir, 'log', '-1', '--format=%P', 'main')).toBe(`${landed.commit} ${again}`);

  writeFiles(checkout, { 'one.txt': 'not yours\n' });
  commitAll(checkout, 'In conflict');
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'conflict', files: ['one.txt'] });
});

test('an amended base of the operator replaces the old one while nothing of ours is on top', async () => {
  const world = await setup();
  const { forge, repository, checkout } = world;
  git(checkout, 'commit', '--quiet', '--amend', '-m', 'first, said better');
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'move', how: 'rewritten', from: world.tip });
  expect(await baseTip(forge, repository)).toBe(git(checkout, 'rev-parse', 'main'));
});

test('R-38: a change is described with the facts that risk rules ask for', async () => {
  const world = await setup();
  const { forge, repository, checkout, inside } = world;
  writeFiles(checkout, {
    'tests/a.test.js': "it('a', () => {});\n",
    'tests/b.test.js': "it('b', () => {});\n",
    'package.json': '{"scripts":{"test":"x"}}\n',
  });
  commitAll(checkout, 'Tests');
  await syncBase(forge, repository);
  const start = (await baseTip(forge, repository)) ?? '';
  const folder = await openAuthorFolder(world, repository, start);
  git(folder.clone, 'rm', '--quiet', 'tests/a.test.js');
  git(folder.clone, 'mv', 'README.md', 'docs.md');
  writeFiles(folder.clone, {
    'tests/b.test.js': "it.skip('b', () => {});\n",
    'package.json': '{"scripts":{"test":"true"}}\n',
    'blob.bin': '\0\u0001\0',
  });
  git(folder.clone, 'update-index', '--chmod=+x', 'test.sh');
  symlinkSync('../../etc/passwd', join(folder.clone, 'out'));
  symlinkSync('greeting.txt', join(folder.clone, 'in'));
  git(folder.clone, 'add', '--all');
  git(folder.clone, 'update-index', '--chmod=+x', 'test.sh');
  git(folder.clone, 'update-index', '--add', '--cacheinfo', `160000,${start},sub`);
  git(folder.clone, 'commit', '--quiet', '-m', 'Many things');
  const { commit } = mustOk(await takeBranch(forge, repository, folder, inside));
  const facts = await changedFiles(forge, repository, start, commit);
  const file = (path: string) => facts.files.find((one) => one.path === path);
  expect(facts.deletedTests).toEqual(['tests/a.test.js']);
  expect(facts.skippedTests).toEqual(['tests/b.test.js']);
  expect(facts.changedScripts).toEqual(['package.json']);
  expect(file('docs.md')).toMatchObject({ status: 'renamed', oldPath: 'README.md', added: 0 });
  expect(file('blob.bin')).toMatchObject({ isBinary: true, sizeBytes: 3, added: undefined });
  expect(file('out')).toMatchObject({ isSymlink: true, leavesTree: true });
  expect(file('in')).toMatchObject({ isSymlink: true, leavesTree: false });
  expect(file('sub')).toMatchObject({ isGitlink: true });
  expect(file('test.sh')).toMatchObject({ modeChanged: true, added: 0 });
  const patch = await patchOf(forge, repository, start, commit, { maxBytes: 200 });
  expect(patch.isCut).toBe(true);
  expect(Buffer.byteLength(patch.text)).toBeLessThanOrEqual(200);
});

test('a work folder is never removed before its uncommitted and unfetched work is in rescue refs (field case 39, sessions decision 9, sessions cases 56 and 58)', async () => {
  const world = await setup();
  const { forge, repository, inside } = world;
  const { folder } = await deliver(world, { 'one.txt': '1\n' });
  git(folder.clone, 'checkout', '--quiet', '-b', 'side');
  writeFiles(folder.clone, { 'side.txt': 'side\n' });
  const side = commitAll(folder.clone, 'Side work');
  writeFiles(folder.clone, { 'one.txt': 'stashed\n' });
  git(folder.clone, 'stash', '--quiet');
  writeFiles(folder.clone, { 'one.txt': 'not committed\n', 'new.txt': 'untracked\n' });

  const facts = mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  expect(facts).toMatchObject({
    headBranch: 'side',
    isOnBranch: false,
    dirty: ['new.txt', 'one.txt'],
    isClean: false,
    hasStash: true,
  });

  const { rescueRefs } = mustOk(await removeWorkFolder(forge, repository, folder, inside));
  expect(rescueRefs).toEqual([
    'refs/chantier/rescue/session-1/side',
    'refs/chantier/rescue/session-1/stash',
    'refs/chantier/rescue/session-1/uncommitted',
  ]);
  expect(await resolveRef(forge, repository, rescueRefs[0] ?? '')).toBe(side);
  expect(git(repository.forgeDir, 'show', `${rescueRefs[2]}:one.txt`)).toBe('not committed');
  expect(git(repository.forgeDir, 'show', `${rescueRefs[2]}:new.txt`)).toBe('untracked');
  expect(await listRescueRefs(forge, repository)).toHaveLength(3);
  expect(git(repository.forgeDir, 'for-each-ref', 'refs/chantier/incoming')).toBe('');
  expect(mustOk(await removeWorkFolder(forge, repository, folder, inside))).toEqual({ rescueRefs: [] });
});

test('keeps a work folder whose work no rescue ref can hold', async () => {
  const world = await setup();
  const { forge, repository, inside } = world;
  const { folder } = await deliver(world, { 'one.txt': '1\n' });
  writeFiles(folder.clone, { 'nested/x.txt': 'x\n' });
  git(join(folder.clone, 'nested'), 'init', '--quiet');
  commitAll(join(folder.clone, 'nested'), 'nested');
  const kept = await removeWorkFolder(forge, repository, folder, inside);
  expect(isRefused(kept) && kept.refusal.code).toBe('nested_repository');
  expect(git(folder.clone, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe(folder.branch);
});

test('a base that the operator set back is followed, also after a landing that they took and dropped again', async () => {
  const world = await setup();
  const { forge, repository, checkout, tip } = world;
  commitAll(checkout, 'not wanted');
  await syncBase(forge, repository);
  git(checkout, 'reset', '--quiet', '--hard', tip);
  const back = await syncBase(forge, repository);
  expect(back).toMatchObject({ kind: 'move', how: 'rewritten', to: tip });
  if (back.kind === 'move') expect(mustOk(await applyBaseSync(forge, repository, back)).base).toBe(tip);
  const { taken } = await deliver(world, { 'one.txt': '1\n' });
  const candidate = mustOk(await buildCandidate(forge, repository, landing(taken.commit)));
  mustOk(await landCandidate(forge, repository, candidate));
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'current', base: candidate.commit });
  await fastForwardOperator(forge, repository, candidate.commit);
  expect(await syncBase(forge, repository)).toMatchObject({ kind: 'current', base: candidate.commit });
  git(checkout, 'reset', '--quiet', '--hard', tip);
  await syncBase(forge, repository);
  expect(await baseTip(forge, repository)).toBe(tip);
});

test('a repository with SHA-256 objects goes the same way', async () => {
  const world = await setup((folder) => {
    mkdirSync(folder);
    git(folder, 'init', '--quiet', '--initial-branch=main', '--object-format=sha256');
    writeFiles(folder, { 'a.txt': 'a\n' });
    commitAll(folder, 'first');
    return folder;
  });
  const { forge, repository } = world;
  const { taken } = await deliver(world, { 'one.txt': '1\n' });
  const candidate = mustOk(await buildCandidate(forge, repository, landing(taken.commit)));
  expect(candidate.commit).toHaveLength(64);
  mustOk(await landCandidate(forge, repository, candidate));
  expect(await fastForwardOperator(forge, repository, candidate.commit)).toMatchObject({ outcome: 'forwarded' });
});
