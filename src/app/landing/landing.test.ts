import { renameSync } from 'node:fs';

import { expect, test, vi } from 'vitest';

import { openLandingWorld } from '../../../test/app/landing-world.ts';
import { git } from '../../../test/repositories/index.ts';
import { baseTip, listBaseMoves, listWorkFolders, prepareBaseMove, type Repository } from '../../forge/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { acceptLanding, listFeedback, type PullRequest, readOpenLanding } from '../../review/index.ts';
import { operator, server } from '../../review/testing.ts';
import { settleDecision } from '../../store/index.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { advancePullRequest, listMovable } from '../review/advance-pull-request.ts';
import { watchBase } from './watch-bases.ts';

async function setup(files?: Record<string, string>) {
  const world = await openLandingWorld(files);
  const { ctx, store } = world;
  const pass = async (pullRequest: { id: string }, times = 1): Promise<PullRequest> => {
    for (let index = 0; index < times; index++) await advancePullRequest(ctx, pullRequest.id);
    return world.read(pullRequest.id);
  };
  const landing = async (pullRequest: { id: string }) => {
    const found = await readOpenLanding(store.read, pullRequest.id);
    if (!found) throw new Error('no landing is open');
    return found;
  };
  const accept = async (pullRequest: { id: string }): Promise<void> => {
    const { id, candidate, baseTip: tip, expectedHead } = await landing(pullRequest);
    const yes = { landingId: id, candidate: candidate!, baseTip: tip!, headSha: expectedHead, actor: operator };
    mustOk(await store.tx((tx) => acceptLanding(tx, yes)));
  };
  return { ...world, pass, landing, accept };
}

const about = (decision: { detail: string } | undefined) => JSON.parse(decision?.detail ?? '{}');

test('an approved change without recognised checks asks a human what to do (P3 land)', async () => {
  const { approved, pass, decisions } = await setup({ 'README.md': 'app\n' });
  expect(await pass(await approved({ 'a.txt': 'a\n' }))).toMatchObject({ state: 'hitl' });
  const [decision] = await decisions();
  expect(about(decision)).toMatchObject({ reason: 'checks_undefined', about: { summary: /no check is configured/ } });
});

test('an approval that counts no more sends the change back to a reviewer (R-17)', async () => {
  const { approved, pass, addReviewer, review, repository, forge } = await setup();
  await addReviewer('babbage', 'claude');
  const repo = await repository();
  const first = await approved({ 'a.txt': 'a\n' });
  expect((await pass(first, 2)).state).toBe('approved');
  const base = (await baseTip(forge, repo))!;
  const opened = await review.opened({ repositoryId: repo.id, branch: 'x', headSha: first.headSha, baseSha: base });
  await review.submit(await review.claim(opened, 'hopper', 'claude', 'single'), 'approve');
  expect(await pass(opened)).toMatchObject({ state: 'awaiting_reviewer', stateReason: 'approval_missing' });
});

test('a checkout that is gone is told to a human with its message', async () => {
  const { approved, pass, checkout, decisions } = await setup();
  const pullRequest = await approved({ 'a.txt': 'a\n' });
  renameSync(checkout, `${checkout}-moved`);
  expect((await pass(pullRequest, 2)).state).toBe('hitl');
  expect(about((await decisions())[0]).about.summary).toContain(checkout);
});

test('set-up that fails on the base as well costs the author no round; three times, and a human looks', async () => {
  const broken = 'version: 1\nworkspace: { setup: [[sh, setup.sh]] }\nchecks: [{ name: check, run: [make, check] }]\n';
  const files = { Makefile: 'check:\n\ttrue\n', 'chantier.yml': broken, 'setup.sh': 'exit 7\n' };
  const { approved, pass, trust, decisions, store, repository } = await setup(files);
  await trust();
  const pullRequest = await approved({ 'a.txt': 'a\n' });
  expect(await pass(pullRequest, 2)).toMatchObject({ state: 'approved', rounds: 0 });
  expect(await pass(pullRequest, 4)).toMatchObject({ state: 'hitl', stateReason: 'landing_error', rounds: 0 });
  const asked = (await decisions()).find((decision) => decision.kind === 'human_review');
  expect(about(asked).about.summary).toContain('setup.sh');
  expect(await listFeedback(store.read, { pullRequestId: pullRequest.id })).toEqual([]);
  const left = await listWorkFolders(store.read, (await repository()).id);
  expect(left.filter((folder) => folder.purpose === 'candidate')).toEqual([]);
});

test('set-up that only the change breaks goes back to its author', async () => {
  const config = 'version: 1\nworkspace: { setup: [[sh, setup.sh]] }\nchecks: [{ name: check, run: [make, check] }]\n';
  const files = { Makefile: 'check:\n\ttrue\n', 'chantier.yml': config, 'setup.sh': 'exit 0\n' };
  const { approved, pass, trust } = await setup(files);
  await trust();
  const pullRequest = await approved({ 'setup.sh': 'exit 7\n' });
  expect(await pass(pullRequest, 2)).toMatchObject({ state: 'changes_requested', rounds: 1 });
});

test('what is offered is left alone until its base moves, and then built anew', async () => {
  const { ctx, approved, pass, landing, commit, repository, store } = await setup();
  const pullRequest = await approved({ 'a.txt': 'a\n' });
  expect(await listMovable(ctx)).toEqual([pullRequest.id]);
  await pass(pullRequest, 2);
  const offered = await landing(pullRequest);
  expect(offered.state).toBe('offered');
  expect(await listMovable(ctx)).toEqual([]);
  const woken: string[] = [];
  store.onWake('pull-requests', (id) => woken.push(id));
  const repo = await repository();
  await watchBase(ctx, repo.id);
  const tip = commit({ 'b.txt': 'b\n' });
  await watchBase(ctx, repo.id);
  await vi.waitFor(() => expect(woken).toEqual([pullRequest.id]));
  await pass(pullRequest, 3);
  expect(await landing(pullRequest)).toMatchObject({ state: 'offered', baseTip: tip });
});

test('P3 land: a landed tree that is no honest merge freezes its base until a human has looked', async () => {
  const { ctx, approved, pass, accept, landing, decisions, repository, store, read, review, forge } = await setup();
  const pullRequest = await approved({ 'a.txt': 'a\n' });
  const later = await approved({ 'c.txt': 'c\n' });
  await pass(pullRequest);
  const repo = await repository();
  const other = await approved({ 'd.txt': 'd\n' });
  const forged = dishonest(repo, (await baseTip(forge, repo))!, other.headSha);
  const checks = [{ name: 'check', status: 'passed' as const }];
  const rules = { topology: 'single', skipRiskAssessment: false, requiredChecks: ['check'] } as const;
  mustOk(await review.offer(await landing(pullRequest), { ...forged, checks, rules }));
  await accept(pullRequest);
  expect((await pass(pullRequest)).state).toBe('merged');
  const [freeze] = await decisions();
  expect(freeze).toMatchObject({ kind: 'base_conflict', dedupe_key: `base_frozen:${pullRequest.repositoryId}` });
  expect((await pass(later, 2)).state).toBe('approved');
  await syncBase(ctx, repo);
  expect(await decisions()).toHaveLength(1);
  expect(await readOpenLanding(store.read, later.id)).toBeUndefined();
  mustOk(await store.tx((tx) => settleDecision(tx, freeze!.id, { outcome: 'approved', actor: operator })));
  await pass(later, 2);
  expect(await landing(await read(later.id))).toMatchObject({ state: 'offered' });
});

test('a conflict with the operator’s base is asked about once, however often loops come by', async () => {
  const { ctx, approved, pass, accept, commit, decisions, repository } = await setup();
  const pullRequest = await approved({ 'a.txt': 'ours\n' });
  await pass(pullRequest, 2);
  await accept(pullRequest);
  expect((await pass(pullRequest)).state).toBe('merged');
  commit({ 'a.txt': 'theirs\n' });
  const repo = await repository();
  for (let index = 0; index < 3; index++) mustOk(await syncBase(ctx, repo));
  expect(await decisions()).toMatchObject([{ kind: 'base_conflict', count: 1 }]);
  const [first] = await decisions();
  commit({ 'a.txt': 'theirs again\n' });
  mustOk(await syncBase(ctx, repo));
  expect((await decisions())[0]?.id).not.toBe(first?.id);
});

test('each move of a base has a row: after a crash before it was settled, and when the operator rewrites to and fro', async () => {
  const { ctx, checkout, commit, repository, store } = await setup();
  const repo = await repository();
  const start = git(checkout, 'rev-parse', 'HEAD');
  const next = commit({ 'b.txt': 'b\n' });
  const request = { repositoryId: repo.id, kind: 'sync', from: start, actor: server } as const;
  await store.tx((tx) => prepareBaseMove(tx, { ...request, to: next }));
  git(repo.forgeDir, 'fetch', '--quiet', checkout, 'main:main');
  mustOk(await syncBase(ctx, repo));
  for (const to of [start, next]) {
    git(checkout, 'reset', '--quiet', '--hard', to);
    mustOk(await syncBase(ctx, repo));
  }
  const moves = await listBaseMoves(store.read, repo.id);
  expect(moves.map(({ to, state }) => [to, state])).toEqual([start, next, start, next].map((to) => [to, 'done']));
});

/** A commit on the base with another tree than the reviewed one, as a candidate. */
function dishonest({ forgeDir }: Repository, tip: string, treeOf: string) {
  const tree = git(forgeDir, 'rev-parse', `${treeOf}^{tree}`);
  return { candidate: git(forgeDir, 'commit-tree', tree, '-p', tip, '-m', 'Not reviewed'), tree, baseTip: tip };
}
