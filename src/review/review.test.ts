import { expect, it } from 'vitest';
import { mustOk, refuse } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { readApprovals } from './approvals.ts';
import { readReviewHistory, releaseReviewClaim } from './claim-review.ts';
import { listClaims } from './claim-store.ts';
import { retryPullRequest } from './decide-pull-request.ts';
import { deliverFeedback, listFeedback } from './feedback.ts';
import { enterHumanReview } from './human-review.ts';
import { criticalRisk, eventKindsOf, humans, mediumRisk, operator, reviewWorld, server } from './testing.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock, reopen } = await open();
    return { store, clock, reopen, world: reviewWorld(store) };
  }

  it('numbers are sequential for each repository, also at once; a branch has one open pull request', async () => {
    const { world } = await setup();
    const opened = await Promise.all([1, 2, 3].map(() => world.openOne()));
    expect(opened.map((one) => one.number).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect((await world.openOne({ repositoryId: 'other' })).number).toBe(1);
    await expect(world.openOne({ branch: opened[0]?.branch ?? '' })).rejects.toThrow(/already has pull request/);
  });

  it('RT-1, R-5: without a risk nobody is sent; with one it goes on', async () => {
    const { world } = await setup();
    const pullRequest = await world.openOne();
    for (let tick = 0; tick < 5; tick++)
      expect(await world.tryClaim(pullRequest)).toMatchObject({ refusal: { code: 'pull_request_state' } });
    const assessed = await world.assess(pullRequest);
    expect(assessed.pullRequest).toMatchObject({ state: 'awaiting_reviewer', risk: 'low' });
    expect(await world.tryClaim(pullRequest)).toMatchObject({ ok: true });
  });

  it('RT-2: medium goes on with its reasons at hand', async () => {
    const { world } = await setup();
    const { pullRequest } = await world.assess(await world.openOne(), mediumRisk);
    expect(pullRequest).toMatchObject({
      state: 'awaiting_reviewer',
      risk: 'medium',
      riskReasons: [{ code: 'dependencies', paths: ['package-lock.json'] }],
    });
  });

  it('RT-3, R-22, R-24: critical goes to humans once, no reviewer ever', async () => {
    const { store, world, clock } = await setup();
    const { pullRequest, humanReview } = await world.assess(await world.openOne(), criticalRisk);
    expect(pullRequest).toMatchObject({ state: 'hitl', stateReason: 'critical_risk', hitlReviewers: ['olga'] });
    const { hitlAt } = mustOk(humanReview ?? refuse('invalid', 'none', 'no human review'));
    clock.advance(1000);
    const again = await store.tx((tx) =>
      enterHumanReview(tx, { pullRequestId: pullRequest.id, reason: 'again', humans, actor: server }),
    );
    expect(mustOk(again)).toEqual({ hitlAt, reviewers: ['olga'], isNew: false });
    expect(await world.tryClaim(pullRequest)).toMatchObject({ ok: false });
    const decisions = await store.read.selectFrom('decision_request').select(['kind', 'subject_id', 'count']).execute();
    expect(decisions).toEqual([{ kind: 'human_review', subject_id: pullRequest.id, count: 1 }]);
    expect((await eventKindsOf(store)).filter((kind) => kind === 'pull-request.human-review')).toHaveLength(1);
  });

  it('RT-4, R-6: with the gate off no risk is needed', async () => {
    const { world } = await setup();
    const pullRequest = await world.openOne({ skipRiskAssessment: true });
    expect(pullRequest.state).toBe('awaiting_reviewer');
    expect(await world.tryClaim(pullRequest)).toMatchObject({ refusal: { code: 'risk_unknown' } });
    expect((await world.assess(pullRequest, criticalRisk, { skipRiskAssessment: true })).pullRequest).toMatchObject({
      state: 'awaiting_reviewer',
      needsHuman: true,
    });
    expect(await world.tryClaim(pullRequest, 'mitnick', 'codex', 'dual', true)).toMatchObject({ ok: true });
  });

  it('RT-14, R-23: without humans the exact error, and nothing is changed', async () => {
    const { store, world } = await setup();
    const { pullRequest, humanReview } = await world.assess(await world.openOne(), criticalRisk, { humans: [] });
    expect(humanReview).toMatchObject({ refusal: { message: 'No reviewers configured for HITL' } });
    expect(pullRequest).toMatchObject({ state: 'awaiting_risk', risk: 'critical', hitlAt: null });
    expect(await store.read.selectFrom('decision_request').selectAll().execute()).toEqual([]);
    expect((await world.assess(pullRequest, criticalRisk)).pullRequest).toMatchObject({ state: 'hitl' });
  });

  it('R-11: one claim at a time, with a fence that grows', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    const tries = await Promise.all([world.tryClaim(pullRequest), world.tryClaim(pullRequest, 'grace', 'gemini')]);
    expect(tries.filter((one) => one.ok)).toHaveLength(1);
    const [first] = await listClaims(store.read, pullRequest.id);
    expect(
      mustOk(
        await store.tx((tx) => releaseReviewClaim(tx, { claimId: first?.id ?? '', reason: 'crashed', actor: server })),
      ),
    ).toEqual({ isReleased: true });
    expect(
      mustOk(
        await store.tx((tx) => releaseReviewClaim(tx, { claimId: first?.id ?? '', reason: 'crashed', actor: server })),
      ),
    ).toEqual({ isReleased: false });
    expect(await world.read(pullRequest.id)).toMatchObject({ state: 'awaiting_reviewer' });
    expect((await world.claim(pullRequest, 'grace', 'gemini')).fence).toBe(2);
  });

  it('R-9, R-12: same family or a contributor is refused at the claim itself', async () => {
    const { world } = await setup();
    const pullRequest = await world.opened();
    expect(await world.tryClaim(pullRequest, 'ada', 'claude')).toMatchObject({
      refusal: { code: 'reviewer_not_opposite' },
    });
    expect(await world.tryClaim(pullRequest, 'turing', 'codex')).toMatchObject({
      refusal: { code: 'reviewer_not_opposite' },
    });
    expect(await world.tryClaim(pullRequest, 'ada', 'claude', 'single')).toMatchObject({ ok: true });
  });

  it('scenario 11, field cases 28 and 31: a reviewer that dies twice on a head is not sent a third time; a verdict is not asked for twice', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    for (let attempt = 0; attempt < 2; attempt++) {
      const claim = await world.claim(pullRequest);
      await store.tx((tx) => releaseReviewClaim(tx, { claimId: claim.id, reason: 'crashed', actor: server }));
    }
    for (let tick = 0; tick < 10; tick++)
      expect(await world.tryClaim(pullRequest)).toMatchObject({ refusal: { code: 'attempts_used_up' } });
    expect(await readReviewHistory(store.read, pullRequest)).toEqual({
      verdictFamilies: [],
      failedAttempts: { mitnick: 2 },
    });
    await world.submit(await world.claim(pullRequest, 'grace', 'gemini'), 'request_changes');
    mustOk(await store.tx((tx) => retryPullRequest(tx, { pullRequestId: pullRequest.id, actor: operator })));
    expect(await world.tryClaim(pullRequest, 'linus', 'gemini')).toMatchObject({ refusal: { code: 'verdict_exists' } });
  });

  it('decision 6: a finding blocks only with file, line and scenario, in a file of the change', async () => {
    const { world } = await setup();
    const claim = await world.claim(await world.opened());
    const finding = { file: 'src/a.ts', line: 1, text: 'x', scenario: 'y' };
    for (const weak of [
      { ...finding, scenario: ' ' },
      { ...finding, line: undefined },
      { ...finding, file: undefined },
      { ...finding, file: 'src/elsewhere.ts' },
    ]) {
      expect(await world.trySubmit(claim, 'request_changes', { findings: [weak] })).toMatchObject({
        refusal: { code: 'nothing_blocks' },
      });
    }
    expect(await world.trySubmit(claim, 'approve', { findings: [finding] })).toMatchObject({
      refusal: { code: 'findings_block' },
    });
    const { verdict } = await world.submit(claim, 'request_changes', {
      findings: [finding, { text: 'a thought' }, { ...finding, file: 'src/elsewhere.ts' }],
    });
    expect(verdict.findings.map(({ isBlocking, isOutside }) => [isBlocking, isOutside])).toEqual([
      [true, false],
      [false, false],
      [false, true],
    ]);
  });

  it('P5: an approval covers every file that must be read', async () => {
    const { world } = await setup();
    const claim = await world.claim(await world.opened());
    expect(await world.trySubmit(claim, 'approve', { coverage: ['src/a.ts'] })).toMatchObject({
      refusal: { code: 'coverage_incomplete' },
    });
    expect(await world.trySubmit(claim, 'approve', { coverage: ['./src/a.ts', 'src/b.ts'] })).toMatchObject({
      ok: true,
    });
  });

  it('a verdict is bound to its session and generation, given once and never changed', async () => {
    const { store, world } = await setup();
    const claim = await world.claim(await world.opened());
    expect(await world.trySubmit(claim, 'approve', { generation: 2 })).toMatchObject({
      refusal: { code: 'not_your_claim' },
    });
    expect(await world.trySubmit(claim, 'approve', { sessionId: 'other' })).toMatchObject({
      refusal: { code: 'not_your_claim' },
    });
    const { pullRequest } = await world.submit(claim, 'approve');
    expect(pullRequest.state).toBe('approved');
    expect(await world.trySubmit(claim, 'request_changes')).toMatchObject({ refusal: { code: 'verdict_given' } });
    await expect(
      store.tx((tx) => tx.db.updateTable('pr_review').set({ decision: 'request_changes' }).execute()),
    ).rejects.toThrow(/verdicts_are_never_changed/);
  });

  it('field case 13: a late verdict is filed and changes nothing', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    const claim = await world.claim(pullRequest);
    await world.push(pullRequest, 'head-2');
    const late = await world.submit(claim, 'approve');
    expect(late.verdict).toMatchObject({ effect: 'filed', effectReason: 'claim_released' });
    expect(await world.read(pullRequest.id)).toMatchObject({ state: 'awaiting_risk', headSha: 'head-2' });
    expect(await readApprovals(store.read, pullRequest.id)).toEqual([]);
    expect(await eventKindsOf(store)).toContain('verdict.filed');
  });

  it('RT-7, R-13, R-15: requested changes become one feedback, delivered once', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    const { verdict } = await world.submit(await world.claim(pullRequest), 'request_changes');
    const [feedback] = await listFeedback(store.read, { pullRequestId: pullRequest.id });
    expect(feedback).toMatchObject({
      source: 'verdict',
      key: `verdict:${verdict.id}:head-1`,
      state: 'pending',
      content: { findings: [{ file: 'src/a.ts', isBlocking: true }] },
    });
    const deliver = () =>
      store.tx((tx) => deliverFeedback(tx, { feedbackId: feedback?.id ?? '', sessionId: 's', actor: server }));
    const answers = await Promise.all([deliver(), deliver()]);
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(await listFeedback(store.read, { state: 'pending' })).toEqual([]);
  });

  it('RT-8, R-14, scenario 10, field cases 29 and 30: the fourth request goes to a human, once, also across restarts; retry sets the count to 0', async () => {
    const { store, reopen, world } = await setup();
    let current = await world.opened();
    let latest = store;
    for (let round = 1; round <= 4; round++) {
      latest = await reopen();
      const again = reviewWorld(latest);
      const claim = await again.claim(current);
      expect(claim.round).toBe(round);
      const { isEscalated } = await again.submit(claim, 'request_changes');
      expect([round, isEscalated]).toEqual([round, round === 4]);
      expect(await listFeedback(latest.read, { state: 'pending' })).toHaveLength(round === 4 ? 0 : 1);
      if (round < 4) current = (await again.assess(await again.push(current, `head-${round + 1}`))).pullRequest;
    }
    expect(await world.read(current.id)).toMatchObject({ state: 'hitl', stateReason: 'rounds_used_up', rounds: 4 });
    expect((await eventKindsOf(store)).filter((kind) => kind === 'pull-request.human-review')).toHaveLength(1);
    const retried = mustOk(
      await store.tx((tx) => retryPullRequest(tx, { pullRequestId: current.id, actor: operator })),
    );
    expect(retried).toMatchObject({ state: 'awaiting_reviewer', rounds: 0 });
    expect(
      await store.read.selectFrom('decision_request').select('outcome').where('kind', '=', 'human_review').execute(),
    ).toEqual([{ outcome: 'retry' }]);
  });

  it('scenario 1, RT-15, R-20, field cases 9 and 11: a push voids the approval, and it stays void when the old head comes back', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.approved();
    const pushed = await world.push(pullRequest, 'head-2');
    expect(pushed).toMatchObject({ state: 'awaiting_risk', risk: null });
    expect(await readApprovals(store.read, pullRequest.id)).toEqual([]);
    expect(await world.start(pushed)).toMatchObject({ ok: false });
    const { pullRequest: back } = await world.assess(await world.push(pushed, 'head-1'));
    expect(back.state).toBe('awaiting_reviewer');
    expect(await readApprovals(store.read, pullRequest.id)).toEqual([]);
    await expect(
      store.tx((tx) => tx.db.updateTable('pr_approval').set({ void_at: null, void_reason: null }).execute()),
    ).rejects.toThrow(/stays_void/);
  });

  it('A4, field case 15: the same patch on another base keeps a low-risk approval; a conflict, another patch or more risk does not', async () => {
    const { store, world } = await setup();
    const samePatch = { patchId: 'patch-1', baseSha: 'base-2' };
    const kept = await world.push(await world.approved(), 'head-2', samePatch);
    expect(kept).toMatchObject({ state: 'approved', risk: null });
    expect(await readApprovals(store.read, kept.id)).toMatchObject([{ headSha: 'head-2' }]);
    expect(await world.start(kept)).toMatchObject({ refusal: { code: 'risk_unknown' } });
    expect((await world.assess(kept)).pullRequest).toMatchObject({ state: 'approved' });
    expect(
      (await world.push(await world.approved(), 'head-2', { ...samePatch, hasConflictResolution: true })).state,
    ).toBe('awaiting_risk');
    expect((await world.push(await world.approved(), 'head-2')).state).toBe('awaiting_risk');
    expect((await world.push(await world.approved({}, mediumRisk), 'head-2', samePatch)).state).toBe('awaiting_risk');
    expect((await world.push(await world.approved(), 'head-2', { ...samePatch, carryOver: 'never' })).state).toBe(
      'awaiting_risk',
    );
  });

  it('A9: a carried approval does not carry a change to critical', async () => {
    const { world } = await setup();
    const kept = await world.push(await world.approved(), 'head-2', { patchId: 'patch-1' });
    expect((await world.assess(kept, criticalRisk)).pullRequest).toMatchObject({ state: 'hitl' });
  });
});
