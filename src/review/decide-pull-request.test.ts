import { expect, it } from 'vitest';
import { mustOk } from '../kernel/index.ts';
import { decideAsHuman } from '../store/index.ts';
import { eachStore } from '../store/testing.ts';
import { setRisk } from './assess-risk.ts';
import { listClaims } from './claim-store.ts';
import {
  abandonPullRequest,
  approvePullRequest,
  closePullRequest,
  holdBack,
  letGoOn,
  retryPullRequest,
} from './decide-pull-request.ts';
import { listFeedback } from './feedback.ts';
import { listVerdicts } from './submit-verdict.ts';
import { criticalRisk, eventKindsOf, humans, operator, reviewWorld, server } from './testing.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock, reopen } = await open();
    return { store, clock, reopen, world: reviewWorld(store) };
  }

  it('R-7, A9: a human raises for good and stops the reviewer; lowering needs reason and proof and holds for one head', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    const claim = await world.claim(pullRequest);
    const set = (level: 'low' | 'critical', extra: object = {}) =>
      store.tx((tx) =>
        setRisk(tx, {
          pullRequestId: pullRequest.id,
          headSha: 'head-1',
          level,
          reason: '',
          hasFreshProof: false,
          humans,
          actor: operator,
          ...extra,
        }),
      );
    expect(mustOk(await set('critical')).pullRequest).toMatchObject({
      state: 'hitl',
      risk: 'critical',
      riskByHuman: 'critical',
    });
    expect((await listClaims(store.read, pullRequest.id)).find((one) => one.id === claim.id)).toMatchObject({
      state: 'released',
      endReason: 'human_review',
    });
    expect(await set('low')).toMatchObject({ refusal: { code: 'note_missing' } });
    expect(await set('low', { reason: 'only words' })).toMatchObject({ refusal: { code: 'fresh_proof' } });
    expect(
      await set('low', { actor: { kind: 'session', id: 's', generation: 1 }, reason: 'x', hasFreshProof: true }),
    ).toMatchObject({ refusal: { code: 'human_only' } });
    expect(mustOk(await set('low', { reason: 'only words', hasFreshProof: true })).pullRequest).toMatchObject({
      risk: 'low',
      state: 'hitl',
    });
    mustOk(await store.tx((tx) => retryPullRequest(tx, { pullRequestId: pullRequest.id, actor: operator })));
    const pushed = await world.push(pullRequest, 'head-2');
    expect((await world.assess(pushed, criticalRisk)).pullRequest).toMatchObject({ risk: 'critical' });
  });

  it('a human’s raise holds for later heads', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    mustOk(
      await store.tx((tx) =>
        setRisk(tx, {
          pullRequestId: pullRequest.id,
          headSha: 'head-1',
          level: 'medium',
          reason: '',
          hasFreshProof: false,
          humans,
          actor: operator,
        }),
      ),
    );
    expect((await world.assess(await world.push(pullRequest, 'head-2'))).pullRequest).toMatchObject({
      risk: 'medium',
      state: 'awaiting_reviewer',
    });
  });

  it('A6: a human approves the head they saw, unless they have a part in it', async () => {
    const { store, world } = await setup();
    const { pullRequest } = await world.assess(await world.openOne(), criticalRisk);
    const approve = (headSha: string, actor = operator) =>
      store.tx((tx) => approvePullRequest(tx, { pullRequestId: pullRequest.id, headSha, actor }));
    expect(await approve('head-0')).toMatchObject({ refusal: { code: 'stale_head' } });
    expect(mustOk(await approve('head-1'))).toMatchObject({ state: 'approved' });
    expect(await listVerdicts(store.read, pullRequest.id)).toMatchObject([
      { kind: 'human', reviewer: 'olga', decision: 'approve' },
    ]);
    expect(await world.start(await world.read(pullRequest.id))).toMatchObject({ ok: true });
    const mixed = await world.opened({ contributors: [{ kind: 'operator', contributor: 'olga', family: 'human' }] });
    expect(
      await store.tx((tx) => approvePullRequest(tx, { pullRequestId: mixed.id, headSha: 'head-1', actor: operator })),
    ).toMatchObject({ refusal: { code: 'contributor' } });
  });

  it('a human’s request for changes counts as no round and reaches the author', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    await world.submit(await world.claim(pullRequest), 'request_changes');
    const retried = mustOk(
      await store.tx((tx) =>
        retryPullRequest(tx, { pullRequestId: pullRequest.id, actor: operator, note: 'use the other table' }),
      ),
    );
    expect(retried).toMatchObject({ state: 'changes_requested', rounds: 0 });
    const pending = await listFeedback(store.read, { state: 'pending' });
    expect(pending).toMatchObject([{ source: 'human', content: { summary: 'use the other table', by: 'olga' } }]);
  });

  it('a critical one is not sent to a reviewer by a bare retry', async () => {
    const { store, world } = await setup();
    const { pullRequest } = await world.assess(await world.openOne(), criticalRisk);
    expect(
      await store.tx((tx) => retryPullRequest(tx, { pullRequestId: pullRequest.id, actor: operator })),
    ).toMatchObject({ refusal: { code: 'note_missing' } });
  });

  it('abandoned, closed, held and released; a closed one comes back with a new head (P2)', async () => {
    const { store, world } = await setup();
    const first = await world.opened();
    const claim = await world.claim(first);
    expect(mustOk(await store.tx((tx) => holdBack(tx, { pullRequestId: first.id, actor: operator })))).toMatchObject({
      state: 'held',
      heldFrom: 'reviewing',
    });
    expect((await listClaims(store.read, first.id))[0]).toMatchObject({ id: claim.id, state: 'released' });
    expect(mustOk(await store.tx((tx) => letGoOn(tx, { pullRequestId: first.id, actor: operator })))).toMatchObject({
      state: 'awaiting_reviewer',
    });
    expect(
      mustOk(await store.tx((tx) => abandonPullRequest(tx, { pullRequestId: first.id, actor: operator }))),
    ).toMatchObject({ state: 'closed' });
    expect(
      mustOk(await store.tx((tx) => closePullRequest(tx, { pullRequestId: first.id, reason: 'gone', actor: server }))),
    ).toMatchObject({ stateReason: 'abandoned' });
    expect(await world.push(first, 'head-2')).toMatchObject({ state: 'awaiting_risk', closedAt: null });
  });

  it('G-20 for reviews, field case 7: an agent decides nothing, and its try leaves an event', async () => {
    const { store, world } = await setup();
    const pullRequest = await world.opened();
    const actor = { kind: 'session', id: 's', generation: 1 } as const;
    const attempt = { actor, act: 'approve_pull_request', subject: { kind: 'pull-request', id: pullRequest.id } };
    const answer = await decideAsHuman(store, attempt, (tx) =>
      approvePullRequest(tx, { pullRequestId: pullRequest.id, headSha: 'head-1', actor }),
    );
    expect(answer).toMatchObject({ refusal: { code: 'human_only' } });
    for (const act of [abandonPullRequest, retryPullRequest, holdBack, letGoOn]) {
      expect(await store.tx((tx) => act(tx, { pullRequestId: pullRequest.id, actor }))).toMatchObject({
        refusal: { code: 'human_only' },
      });
    }
    expect(
      await store.tx((tx) => approvePullRequest(tx, { pullRequestId: pullRequest.id, headSha: 'head-1', actor })),
    ).toMatchObject({ refusal: { code: 'human_only' } });
    expect((await eventKindsOf(store)).filter((kind) => kind === 'access.refused')).toHaveLength(1);
  });
});
