import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { isTerminal } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { openTestSqlite } from '../store/testing.ts';
import { readApprovals } from './approvals.ts';
import { releaseReviewClaim } from './claim-review.ts';
import { readLiveClaim } from './claim-store.ts';
import { abandonPullRequest, approvePullRequest, holdBack, letGoOn, retryPullRequest } from './decide-pull-request.ts';
import { finishLanding, withdrawLanding } from './finish-landing.ts';
import { readOpenLanding } from './landing-store.ts';
import { moveHead } from './move-head.ts';
import { openStates, type PullRequest, pullRequestMoves, type PullRequestState } from './pull-request.ts';
import { assessRisk } from './assess-risk.ts';
import { criticalRisk, humans, lowRisk, operator, reviewWorld, server } from './testing.ts';

const acts = [
  'push',
  'push-same-patch',
  'assess-low',
  'assess-critical',
  'claim-opposite',
  'claim-same-family',
  'approve',
  'approve-stale',
  'request',
  'crash',
  'start',
  'offer',
  'offer-red',
  'accept',
  'accept-stale',
  'landed',
  'base-moved',
  'unknown',
  'withdraw',
  'human-approve',
  'human-retry',
  'hold',
  'release',
  'abandon',
] as const;
type Act = (typeof acts)[number];

/** Does one act in whatever state the pull request is; refusals are fine, exceptions are not. */
async function perform(
  store: Store,
  world: ReturnType<typeof reviewWorld>,
  id: string,
  act: Act,
  count: number,
): Promise<void> {
  const pullRequest = await world.read(id);
  const claim = await readLiveClaim(store.read, { pullRequestId: id });
  const landing = await readOpenLanding(store.read, id);
  const bare = { pullRequestId: id, actor: operator };
  const push = (patchId: string) =>
    store.tx((tx) =>
      moveHead(tx, {
        pullRequestId: id,
        headSha: `head-${count}`,
        baseSha: 'base-1',
        patchId,
        hasConflictResolution: false,
        pushedBy: { kind: 'agent', contributor: 'turing', family: 'claude' },
        actor: server,
      }),
    );
  const assess = (verdict: typeof lowRisk) =>
    store.tx((tx) =>
      assessRisk(tx, { pullRequestId: id, headSha: pullRequest.headSha, verdict, humans, actor: server }),
    );
  const finish = (outcome: Parameters<typeof finishLanding>[1]['outcome']) =>
    landing && store.tx((tx) => finishLanding(tx, { landingId: landing.id, outcome, humans, actor: server }));
  const steps: Record<Act, () => Promise<unknown> | undefined> = {
    push: () => push(`patch-${count}`),
    'push-same-patch': () => push(pullRequest.patchId ?? 'patch'),
    'assess-low': () => assess(lowRisk),
    'assess-critical': () => assess(criticalRisk),
    'claim-opposite': async () => {
      if ((await world.tryClaim(pullRequest)).ok) {
        const live = await readLiveClaim(store.read, { pullRequestId: id });
        await store.tx((tx) =>
          tx.db
            .updateTable('review_claim')
            .set({ session_id: 's', generation: 1 })
            .where('id', '=', live?.id ?? '')
            .execute(),
        );
      }
    },
    'claim-same-family': async () => expect((await world.tryClaim(pullRequest, 'ada', 'claude')).ok).toBe(false),
    approve: () => claim && world.trySubmit(claim, 'approve'),
    'approve-stale': () => claim && world.trySubmit({ ...claim, headSha: 'another' }, 'approve'),
    request: () => claim && world.trySubmit(claim, 'request_changes'),
    crash: () =>
      claim && store.tx((tx) => releaseReviewClaim(tx, { claimId: claim.id, reason: 'crashed', actor: server })),
    start: () => world.start(pullRequest),
    offer: () => landing && world.offer(landing),
    'offer-red': () => landing && world.offer(landing, { checks: [{ name: 'test', status: 'failed' }] }),
    accept: () => landing && world.accept(landing),
    'accept-stale': async () =>
      expect(landing ? (await world.accept(landing, { candidate: 'another' })).ok : false).toBe(false),
    landed: () => finish({ kind: 'landed', commit: `commit-${count}` }),
    'base-moved': () => finish({ kind: 'failed', reason: 'base_moved' }),
    unknown: () => finish({ kind: 'unknown' }),
    withdraw: () =>
      landing && store.tx((tx) => withdrawLanding(tx, { landingId: landing.id, reason: 'base_moved', actor: server })),
    'human-approve': () => store.tx((tx) => approvePullRequest(tx, { ...bare, headSha: pullRequest.headSha })),
    'human-retry': () => store.tx((tx) => retryPullRequest(tx, bare)),
    hold: () => store.tx((tx) => holdBack(tx, bare)),
    release: () => store.tx((tx) => letGoOn(tx, bare)),
    abandon: () => store.tx((tx) => abandonPullRequest(tx, bare)),
  };
  await steps[act]();
}

/** What holds after every act, whatever happened before. */
async function assertInvariants(store: Store, before: PullRequest, after: PullRequest): Promise<void> {
  const path = reachable(before.state);
  expect(path.has(after.state) || after.state === before.state).toBe(true);
  expect(after.closedAt !== null).toBe(!openStates.includes(after.state));
  const claims = await store.read.selectFrom('review_claim').selectAll().where('state', '=', 'live').execute();
  expect(claims.length === 1).toBe(after.state === 'reviewing');
  for (const claim of claims) expect(claim.head_sha).toBe(after.headSha);
  const leases = await store.read.selectFrom('lease').select('holder').where('released_at', 'is', null).execute();
  expect(leases.map(({ holder }) => holder)).toEqual(claims.map(({ id }) => id));
  const approvals = await readApprovals(store.read, after.id);
  for (const approval of approvals) expect(approval.headSha).toBe(after.headSha);
  if (after.state === 'landing') {
    const landing = await readOpenLanding(store.read, after.id);
    expect(landing).toMatchObject({ expectedHead: after.headSha });
    // I1: only with an approval for exactly this head, and a human's yes.
    expect(approvals.length).toBeGreaterThan(0);
    expect(landing?.acceptedBy).toBe('olga');
  }
  if (after.state === 'hitl') {
    const open = await store.read
      .selectFrom('decision_request')
      .select('id')
      .where('kind', '=', 'human_review')
      .where('state', '=', 'open')
      .execute();
    expect(open).toHaveLength(1);
  }
  const landed = await store.read
    .selectFrom('landing')
    .select(['accepted_by', 'expected_head'])
    .where('state', '=', 'landed')
    .execute();
  expect(landed.length).toBe(after.state === 'merged' ? 1 : 0);
  for (const row of landed) expect(row).toEqual({ accepted_by: 'olga', expected_head: after.headSha });
}

/** Everything that a state can lead to in the few moves that one act makes. */
function reachable(from: PullRequestState): Set<PullRequestState> {
  const found = new Set<PullRequestState>([from]);
  for (let depth = 0; depth < 3; depth++) {
    const next = [...found].flatMap((state) => pullRequestMoves[state]);
    for (const state of next) found.add(state);
  }
  return found;
}

it('P2, I1, I2, I5: whatever happens in whatever order, a pull request is in a listed state and lands only as approved and accepted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...acts), { minLength: 5, maxLength: 40 }), async (sequence) => {
      const { store } = await openTestSqlite();
      const world = reviewWorld(store);
      const { id } = await world.openOne();
      for (const [index, act] of sequence.entries()) {
        const before = await world.read(id);
        await perform(store, world, id, act, index + 2);
        await assertInvariants(store, before, await world.read(id));
      }
      await store.close();
    }),
    { numRuns: 25, interruptAfterTimeLimit: 8000 },
  );
}, 30_000);

it('P2: merged and restarted are never left; every other state leads somewhere', () => {
  const states = Object.keys(pullRequestMoves) as PullRequestState[];
  expect(states.filter((state) => isTerminal(pullRequestMoves, state))).toEqual(['merged', 'restarted']);
  for (const state of states)
    if (state !== 'merged' && state !== 'restarted') expect(reachable(state).size).toBeGreaterThan(1);
});

it('the happy path is among the paths', async () => {
  const { store } = await openTestSqlite();
  const world = reviewWorld(store);
  const { id } = await world.openOne();
  const path: Act[] = [
    'assess-low',
    'claim-opposite',
    'request',
    'push',
    'assess-low',
    'claim-opposite',
    'approve',
    'start',
    'offer',
    'accept',
    'landed',
  ];
  for (const [index, act] of path.entries()) {
    const before = await world.read(id);
    await perform(store, world, id, act, index + 2);
    await assertInvariants(store, before, await world.read(id));
  }
  expect(await world.read(id)).toMatchObject({ state: 'merged', rounds: 1 });
});
