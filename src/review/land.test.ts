import { describe, expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { approvePullRequest } from './decide-pull-request.ts';
import { listFeedback } from './feedback.ts';
import { declineLanding, finishLanding, type LandingOutcome, withdrawLanding } from './finish-landing.ts';
import { autoLandingCovers, landingBlockers, type LandingFacts } from './landing-blockers.ts';
import type { Landing } from './landing.ts';
import { mayOfferAutoLanding, readLanding } from './landing-store.ts';
import { requestRevert } from './request-revert.ts';
import { criticalRisk, eventKindsOf, humans, mediumRisk, operator, reviewWorld, rules, server } from './testing.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock } = await open();
    const world = reviewWorld(store);
    const finish = (landing: Landing, outcome: LandingOutcome) =>
      store.tx((tx) => finishLanding(tx, { landingId: landing.id, outcome, humans, actor: server }));
    const prepared = async (extra = {}): Promise<Landing> =>
      mustOk(await world.accept(await world.offered(await world.approved(extra))));
    return { store, clock, world, finish, prepared };
  }

  it('R-17, decision 3: a human says yes to exactly what is shown, and then it lands', async () => {
    const { store, world, finish } = await setup();
    const pullRequest = await world.approved({ taskId: 'task-1' });
    const landing = await world.offered(pullRequest);
    const [decision] = await store.read.selectFrom('decision_request').selectAll().execute();
    expect(decision).toMatchObject({ id: landing.decisionId, kind: 'landing', subject_id: landing.id });
    expect(JSON.parse(decision?.detail ?? '')).toMatchObject({
      candidate: landing.candidate,
      base: 'base-1',
      head: 'head-1',
      checks: [{ name: 'test', status: 'passed' }],
      effect: { target: 'main', files: 2 },
      approvals: [{ reviewer: 'mitnick', isAdvisory: false }],
    });
    expect(await world.accept(landing, { candidate: 'another' })).toMatchObject({
      refusal: { code: 'stale_candidate' },
    });
    expect(await world.accept(landing, { baseTip: 'another' })).toMatchObject({ refusal: { code: 'stale_candidate' } });
    expect(await world.accept(landing, { headSha: 'another' })).toMatchObject({ refusal: { code: 'stale_head' } });
    expect(await world.accept(landing, { actor: { kind: 'session', id: 's', generation: 1 } })).toMatchObject({
      refusal: { code: 'human_only' },
    });
    expect(await world.accept(landing, { actor: { kind: 'operator-cli', id: 'olga' } })).toMatchObject({
      refusal: { code: 'human_only' },
    });
    expect(mustOk(await world.accept(landing))).toMatchObject({ state: 'prepared', acceptedBy: 'olga', isClean: true });
    expect(await world.read(pullRequest.id)).toMatchObject({ state: 'landing' });
    const landed = mustOk(await finish(landing, { kind: 'landed', commit: landing.candidate ?? '' }));
    expect(landed).toMatchObject({ landing: { state: 'landed' }, pullRequest: { state: 'merged', taskId: 'task-1' } });
    expect(mustOk(await finish(landing, { kind: 'landed', commit: landing.candidate ?? '' })).pullRequest.state).toBe(
      'merged',
    );
    const kinds = await eventKindsOf(store);
    expect(kinds.filter((kind) => kind.startsWith('landing.'))).toEqual([
      'landing.started',
      'landing.offered',
      'landing.prepared',
      'landing.landed',
    ]);
    await expect(
      store.tx((tx) => tx.db.updateTable('pull_request').set({ state: 'closed' }).execute()),
    ).rejects.toThrow(/stays_ended/);
  });

  it('scenario 2: a push between offer and yes withdraws the candidate', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.approved();
    const landing = await world.offered(pullRequest);
    await world.push(pullRequest, 'head-2');
    expect(await readLanding(store.read, landing.id)).toMatchObject({ state: 'withdrawn', reason: 'head_moved' });
    expect(await world.accept(landing)).toMatchObject({ refusal: { code: 'stale_head' } });
    expect(await store.read.selectFrom('decision_request').select('state').execute()).toEqual([{ state: 'void' }]);
  });

  it('I2: while the base is being moved no new head is taken, and the candidate is fixed in the database', async () => {
    const { store, world, prepared } = await setup();
    const landing = await prepared();
    await expect(world.push(await world.read(landing.pullRequestId), 'head-2')).rejects.toThrow(/wait for the landing/);
    await expect(store.tx((tx) => tx.db.updateTable('landing').set({ candidate: 'other' }).execute())).rejects.toThrow(
      /a_yes_binds/,
    );
  });

  it('scenario 18: the base moved: another candidate, and no second yes to the same effect', async () => {
    const { world, finish, prepared } = await setup();
    const landing = await prepared();
    expect(mustOk(await finish(landing, { kind: 'failed', reason: 'base_moved' })).pullRequest.state).toBe('approved');
    const second = mustOk(await world.start(await world.read(landing.pullRequestId)));
    expect(second.id).not.toBe(landing.id);
    expect(mustOk(await world.offer(second, { baseTip: 'base-2' }))).toMatchObject({
      state: 'prepared',
      acceptedBy: 'olga',
      baseTip: 'base-2',
    });
    mustOk(await finish(second, { kind: 'failed', reason: 'base_moved' }));
    const third = mustOk(await world.start(await world.read(landing.pullRequestId)));
    expect(mustOk(await world.offer(third, { baseTip: 'base-3', effectDigest: 'another effect' }))).toMatchObject({
      state: 'offered',
    });
  });

  it('a base that moved before the yes withdraws the question', async () => {
    const { store, world } = await setup();
    const landing = await world.offered(await world.approved());
    mustOk(await store.tx((tx) => withdrawLanding(tx, { landingId: landing.id, reason: 'base_moved', actor: server })));
    expect(await world.accept(landing)).toMatchObject({ refusal: { code: 'landing_state' } });
    expect(await world.start(await world.read(landing.pullRequestId))).toMatchObject({ ok: true });
  });

  it('scenario 6: red, missing and undefined checks do not land; `none` does', async () => {
    const { world } = await setup();
    const pullRequest = await world.approved();
    expect(await world.start(pullRequest, { requiredChecks: [] })).toMatchObject({
      refusal: { kind: 'not-landed', code: 'checks_undefined' },
    });
    const landing = mustOk(await world.start(pullRequest));
    expect(await world.offer(landing, { checks: [] })).toMatchObject({ refusal: { code: 'checks_missing' } });
    expect(await world.offer(landing, { checks: [{ name: 'test', status: 'timed-out' }] })).toMatchObject({
      refusal: { code: 'checks_red' },
    });
    expect(await world.offer(landing, { checks: [], rules: { ...rules, requiredChecks: 'none' } })).toMatchObject({
      value: { state: 'offered' },
    });
  });

  it('decision 2: red checks and conflicts go to the author and count as rounds', async () => {
    const { store, world, finish } = await setup();
    const pullRequest = await world.approved();
    const landing = mustOk(await world.start(pullRequest));
    const failed = mustOk(
      await finish(landing, {
        kind: 'failed',
        reason: 'checks_failed',
        detail: { summary: 'test failed', log: 'boom' },
      }),
    );
    expect(failed.pullRequest).toMatchObject({ state: 'changes_requested', rounds: 1 });
    expect(await listFeedback(store.read, { state: 'pending' })).toMatchObject([
      { source: 'checks', content: { log: 'boom' } },
    ]);
  });

  it('scenario 3, field case 3: an outcome that nobody saw is looked up; three times unknown is for a human', async () => {
    const { world, finish, prepared } = await setup();
    const landing = await prepared();
    for (const reads of [1, 2]) {
      expect(mustOk(await finish(landing, { kind: 'unknown' }))).toMatchObject({
        landing: { state: 'unknown', unknownReads: reads },
        pullRequest: { state: 'landing' },
      });
    }
    expect(mustOk(await finish(landing, { kind: 'unknown' })).pullRequest).toMatchObject({
      state: 'hitl',
      stateReason: 'landing_unknown',
    });
    expect(
      mustOk(await finish(landing, { kind: 'landed', commit: landing.candidate ?? '' })).pullRequest,
    ).toMatchObject({ state: 'merged' });
    const other = await prepared();
    mustOk(await finish(other, { kind: 'unknown' }));
    expect(mustOk(await finish(other, { kind: 'failed', reason: 'base_moved' })).pullRequest).toMatchObject({
      state: 'approved',
    });
    expect(await world.start(await world.read(other.pullRequestId))).toMatchObject({ ok: true });
  });

  it('what was never accepted cannot have landed', async () => {
    const { world, finish } = await setup();
    const landing = await world.offered(await world.approved());
    expect(await finish(landing, { kind: 'landed', commit: 'x' })).toMatchObject({
      refusal: { code: 'landing_state' },
    });
  });

  it('a refusal of the forge is for a human', async () => {
    const { finish, prepared } = await setup();
    expect(mustOk(await finish(await prepared(), { kind: 'failed', reason: 'refused' })).pullRequest).toMatchObject({
      state: 'hitl',
      stateReason: 'landing_refused',
    });
  });

  it('land.auto: low lands low without asking, never critical, never a protected path, never without a sandbox or on advice', async () => {
    const { world } = await setup();
    const auto = async (
      setting: 'low' | 'medium',
      pullRequest: Awaited<ReturnType<typeof world.approved>>,
      extra = {},
    ) => mustOk(await world.offer(mustOk(await world.start(pullRequest)), { auto: setting, ...extra }));
    expect(await auto('low', await world.approved())).toMatchObject({
      state: 'prepared',
      acceptedBy: 'land.auto',
      isClean: false,
    });
    expect(await auto('low', await world.approved({}, mediumRisk))).toMatchObject({ state: 'offered' });
    expect(await auto('medium', await world.approved({}, mediumRisk))).toMatchObject({ state: 'prepared' });
    expect(await auto('medium', await world.approved({}, { ...mediumRisk, needsHuman: true }))).toMatchObject({
      state: 'offered',
    });
    expect(await auto('low', await world.approved(), { sandboxHolds: false })).toMatchObject({ state: 'offered' });
    const advised = await world.opened();
    await world.submit(await world.claim(advised), 'approve', { isSandboxed: false });
    expect(await auto('low', await world.read(advised.id))).toMatchObject({ state: 'offered' });
  });

  it('R-21: a critical change lands only by a human, after a human’s approval', async () => {
    const { store, world } = await setup();
    const { pullRequest } = await world.assess(await world.openOne(), criticalRisk);
    mustOk(
      await store.tx((tx) =>
        approvePullRequest(tx, { pullRequestId: pullRequest.id, headSha: 'head-1', actor: operator }),
      ),
    );
    const landing = mustOk(await world.start(await world.read(pullRequest.id)));
    expect(mustOk(await world.offer(landing, { auto: 'medium' }))).toMatchObject({ state: 'offered' });
  });

  it('a human’s no: with a note to the author, without one held', async () => {
    const { store, world } = await setup();
    const first = await world.offered(await world.approved());
    const decline = (landing: Landing, note?: string) =>
      store.tx((tx) =>
        declineLanding(tx, { landingId: landing.id, actor: operator, ...(note === undefined ? {} : { note }) }),
      );
    expect(mustOk(await decline(first, 'name it better')).pullRequest).toMatchObject({
      state: 'changes_requested',
      rounds: 0,
    });
    expect(await listFeedback(store.read, { state: 'pending' })).toMatchObject([{ source: 'human' }]);
    const second = await world.offered(await world.approved());
    expect(mustOk(await decline(second)).pullRequest).toMatchObject({ state: 'held', heldFrom: 'approved' });
    expect(await decline(second)).toMatchObject({ refusal: { code: 'landing_state' } });
  });

  it('startLanding is repeated without a second try', async () => {
    const { world } = await setup();
    const pullRequest = await world.approved();
    const tries = await Promise.all([world.start(pullRequest), world.start(pullRequest)]);
    expect(new Set(tries.map((one) => mustOk(one).id)).size).toBe(1);
  });

  it('design 6: land.auto is offered after five clean landings, and not after an undone one', async () => {
    const { store, world, finish, prepared, clock } = await setup();
    let last: Landing | undefined;
    for (let index = 0; index < 5; index++) {
      expect(await mayOfferAutoLanding(store.read, 'repo')).toBe(false);
      last = await prepared();
      clock.advance(1000);
      mustOk(await finish(last, { kind: 'landed', commit: `commit-${index}` }));
    }
    expect(await mayOfferAutoLanding(store.read, 'repo')).toBe(true);
    const revert = () =>
      store.tx((tx) => requestRevert(tx, { landingId: last?.id ?? '', reason: 'broke it', actor: operator }));
    mustOk(await revert());
    expect(await revert()).toMatchObject({ refusal: { code: 'revert_open' } });
    expect(await mayOfferAutoLanding(store.read, 'repo')).toBe(false);
    const undo = await world.approved({ revertOf: last?.id ?? '' });
    const landing = mustOk(await world.accept(await world.offered(undo)));
    mustOk(await finish(landing, { kind: 'landed', commit: 'undo' }));
    expect(await store.read.selectFrom('landing_revert').select(['state', 'pull_request_id']).execute()).toEqual([
      { state: 'landed', pull_request_id: undo.id },
    ]);
  });
});

describe('the gate, in the order of P3', () => {
  const good: LandingFacts = {
    state: 'approved',
    headSha: 'h',
    baseRef: 'main',
    risk: 'low',
    skipRiskAssessment: false,
    needsHuman: false,
    topology: 'dual',
    contributors: [{ kind: 'agent', contributor: 'turing', family: 'claude' }],
    approvals: [
      {
        id: 'a',
        reviewId: 'r',
        headSha: 'h',
        baseRef: 'main',
        kind: 'agent',
        reviewer: 'mitnick',
        family: 'codex',
        isAdvisory: false,
      },
    ],
    outstandingRequests: [],
    missingOwners: [],
    requiredChecks: ['test'],
    baseTip: 'b',
    candidate: { headSha: 'h', baseTip: 'b', checks: [{ name: 'test', status: 'passed' }] },
    isAccepted: true,
    auto: 'none',
    sandboxHolds: true,
  };
  const approval = good.approvals[0] as LandingFacts['approvals'][number];
  const codes = (extra: Partial<LandingFacts>): string[] =>
    landingBlockers({ ...good, ...extra }).map(({ code }) => code);

  it('a good one has no blocker', () => expect(codes({})).toEqual([]));

  it.each([
    [{ state: 'held' }, 'not_open'],
    [{ state: 'hitl' }, 'not_open'],
    [{ risk: null }, 'risk_unknown'],
    [{ risk: 'critical' }, 'risk_critical'],
    [{ approvals: [] }, 'approval_missing'],
    [{ approvals: [{ ...approval, headSha: 'old' }] }, 'approval_missing'],
    [{ approvals: [{ ...approval, baseRef: 'other' }] }, 'approval_missing'],
    [{ approvals: [{ ...approval, family: 'claude' }] }, 'approval_missing'],
    [{ approvals: [{ ...approval, family: 'unknown' }] }, 'approval_missing'],
    [{ outstandingRequests: ['grace'] }, 'changes_requested'],
    [{ missingOwners: ['team'] }, 'code_owners'],
    [{ requiredChecks: [] }, 'checks_undefined'],
    [{ baseClosed: 'frozen' }, 'base_closed'],
    [{ leaseHolder: 'l' }, 'lease_held'],
    [{ baseTip: 'moved' }, 'candidate_stale'],
    [{ requiredChecks: ['test', 'lint'] }, 'checks_missing'],
    [{ candidate: { headSha: 'h', baseTip: 'b', checks: [{ name: 'test', status: 'failed' }] } }, 'checks_red'],
    [{ isAccepted: false }, 'yes_missing'],
  ] satisfies [Partial<LandingFacts>, string][])('%j', (extra, code) => expect(codes(extra)[0]).toBe(code));

  it('shows the first reason first', () => {
    const { candidate: _none, ...rest } = good;
    const all = landingBlockers({
      ...rest,
      state: 'held',
      risk: null,
      approvals: [],
      outstandingRequests: ['x'],
      missingOwners: ['y'],
      requiredChecks: [],
      baseClosed: 'z',
      leaseHolder: 'l',
      isAccepted: false,
    });
    expect(all.map(({ code }) => code)).toEqual([
      'not_open',
      'risk_unknown',
      'approval_missing',
      'changes_requested',
      'code_owners',
      'checks_undefined',
      'base_closed',
      'lease_held',
      'candidate_missing',
      'yes_missing',
    ]);
  });

  it('RT-5, RT-6, R-18: two sides need the opposite; one side needs another identity; a human counts in both', () => {
    const same = [{ ...approval, reviewer: 'ada', family: 'claude' }];
    const own = [{ ...approval, reviewer: 'turing', family: 'claude' }];
    const human = [{ ...approval, kind: 'human' as const, reviewer: 'olga', family: 'human' }];
    expect(codes({ approvals: same })).toEqual(['approval_missing']);
    expect(codes({ topology: 'single', approvals: same })).toEqual([]);
    expect(codes({ topology: 'single', approvals: own })).toEqual(['approval_missing']);
    expect(codes({ approvals: human })).toEqual([]);
    expect(codes({ approvals: human, risk: 'critical' })).toEqual([]);
    const author = [...good.contributors, { kind: 'operator' as const, contributor: 'olga', family: 'human' }];
    expect(codes({ approvals: human, contributors: author })).toEqual(['approval_missing']);
  });

  it('RT-4, A23: the gate switched off spares the risk, not the protected paths', () => {
    expect(codes({ risk: null, skipRiskAssessment: true })).toEqual([]);
    const auto = { ...good, auto: 'medium' as const, isAccepted: false };
    expect(landingBlockers(auto)).toEqual([]);
    expect(landingBlockers({ ...auto, needsHuman: true })).toMatchObject([
      { code: 'yes_missing', message: expect.stringContaining('always for a human') },
    ]);
    expect(autoLandingCovers({ ...auto, risk: null })).toBe(false);
    expect(autoLandingCovers({ ...auto, risk: 'critical' })).toBe(false);
  });
});
