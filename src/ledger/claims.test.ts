import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { eachStore } from '../store/testing.ts';
import {
  cancelTask,
  checkClaim,
  claimNext,
  claimRework,
  claimTask,
  claimTtlMs,
  completeTask,
  deliverTask,
  endDelivery,
  expiredClaims,
  heartbeat,
  listTasks,
  pauseTask,
  readyTasks,
  recordTestResult,
  releaseClaim,
  resumeTask,
  showTask,
} from './index.ts';
import { agents, claim, deliver, moreTasks, openDecisions, operator, refusedCode, session, world } from './testing.ts';

const claimAs = (store: Store, taskId: string, holder: string) =>
  store.tx((tx) => claimTask(tx, { taskId, holder, actor: session }));

const release = (store: Store, taskId: string, fence: number, end: 'failed' | 'stopped' | 'returned') =>
  store.tx((tx) => releaseClaim(tx, { taskId, fence, end, actor: session }));

eachStore((_dialect, open) => {
  it('claims with a lease of 90 s and a fence, in one transaction with its event (README 2.2)', async () => {
    const { store, clock } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const taken = mustOk(await claimAs(store, a, 'session-1'));
    expect(taken).toMatchObject({ holder: 'session-1', fence: 1, task: { status: 'doing', started_at: clock.now() } });
    expect(await made.events()).toEqual(['task.claimed']);
    const lease = await store.read.selectFrom('lease').selectAll().executeTakeFirstOrThrow();
    expect(lease).toMatchObject({ resource_type: 'task', resource_id: a, slot: 'dispatcher', ttl_ms: claimTtlMs });
    expect(await readyTasks(store.read)).toEqual([]);
  });

  it('gives a task to one of two racing claimers, and different tasks to many (field case 24)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }]);
    const { a = '' } = made.ids;
    const both = await Promise.all([claimAs(store, a, 'one'), claimAs(store, a, 'two')]);
    expect(both.filter((result) => result.ok)).toHaveLength(1);
    const loser = both.find((result) => !result.ok);
    expect(loser).toMatchObject({ refusal: { kind: 'held', code: 'task_claimed' } });

    await moreTasks(made, ...Array.from({ length: 5 }, (_, i) => ({ title: `n${i}` })));
    const many = await Promise.all(
      Array.from({ length: 8 }, (_, i) => store.tx((tx) => claimNext(tx, { holder: `h${i}`, actor: session }))),
    );
    const ids = many.flatMap((result) => mustOk(result)?.task.id ?? []);
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  it('takes the most urgent ready task that fits the filter', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    const made = await world(store, [
      { title: 'late', priority: 'P3' },
      { title: 'urgent', priority: 'P0', assignee: 'hopper' },
      { title: 'soon', priority: 'P1', repository_id: 'repo-1' },
    ]);
    const turing = await store.read
      .selectFrom('agent')
      .select('id')
      .where('codename', '=', 'turing')
      .executeTakeFirst();
    const next = async (filter: Parameters<typeof claimNext>[1]['filter']): Promise<string | undefined> =>
      mustOk(await store.tx((tx) => claimNext(tx, { holder: 's', actor: session, ...(filter ? { filter } : {}) })))
        ?.task.title;
    expect(await next({ repositoryId: 'repo-2' })).toBeUndefined();
    expect(await next({ agentId: turing?.id ?? '', except: [made.ids.soon ?? ''] })).toBe('late');
    expect(await next({ projectId: made.projectId })).toBe('urgent');
    expect(await next({})).toBe('soon');
    expect(await next({})).toBeUndefined();
  });

  it('is the same claim for the same holder, and names the holder to everybody else', async () => {
    const { store } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    expect(mustOk(await claimAs(store, a, 'one')).fence).toBe(1);
    expect(mustOk(await claimAs(store, a, 'one')).fence).toBe(1);
    const other = await claimAs(store, a, 'two');
    expect(other).toMatchObject({
      ok: false,
      refusal: { facts: { holder: 'one' }, message: expect.stringMatching('one') },
    });
    expect(await refusedCode(store, (tx) => claimTask(tx, { taskId: 'no-such', holder: 's', actor: session }))).toBe(
      'unknown_task',
    );
  });

  it('renews by heartbeat, expires at 90 s sharp, and lets its own holder come back with a new fence (field case 25)', async () => {
    const { store, clock } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    clock.advance(claimTtlMs - 1);
    mustOk(await store.tx((tx) => heartbeat(tx, { taskId: a, fence })));
    clock.advance(claimTtlMs - 1);
    mustOk(await store.tx((tx) => checkClaim(tx, { taskId: a, fence })));
    expect(await expiredClaims(store.read, clock.now())).toEqual([]);
    clock.advance(1);
    expect(await refusedCode(store, (tx) => heartbeat(tx, { taskId: a, fence }))).toBe('lease_lost');
    expect(await expiredClaims(store.read, clock.now())).toMatchObject([{ taskId: a, holder: 'session-1', fence }]);
    expect(mustOk(await showTask(store.read, a, clock.now())).phase).toBe('lost');
    expect(await claimAs(store, a, 'two')).toMatchObject({ ok: false, refusal: { code: 'claim_expired' } });
    mustOk(await store.tx((tx) => heartbeat(tx, { taskId: a, fence, evenIfExpired: true })));
    expect(await expiredClaims(store.read, clock.now())).toEqual([]);
    clock.advance(claimTtlMs);
    expect(mustOk(await claimAs(store, a, 'session-1')).fence).toBe(fence + 1);
    expect(await refusedCode(store, (tx) => heartbeat(tx, { taskId: a, fence }))).toBe('lease_lost');
  });

  it('puts a failed task back to todo with one attempt more; two name a stronger model, three ask a human (README 2.9, 2.10)', async () => {
    const { store } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    for (const [attempts, model] of [
      [1, 'light'],
      [2, 'high'],
    ] as const) {
      const fence = await claim(store, a);
      mustOk(await release(store, a, fence, 'failed'));
      expect(await made.task('a')).toMatchObject({ status: 'todo', attempts, model_recommended: model });
      expect(await openDecisions(store)).toEqual([]);
    }
    mustOk(await release(store, a, await claim(store, a), 'failed'));
    expect(await made.task('a')).toMatchObject({ status: 'paused', attempts: 3 });
    expect(await openDecisions(store)).toEqual([{ kind: 'attempts_exhausted', subject_id: a, count: 1 }]);
    expect(await claimAs(store, a, 'x')).toMatchObject({ ok: false, refusal: { code: 'task_wrong_state' } });
    expect((await made.events()).slice(-3)).toEqual(['task.released', 'task.attempts-exhausted', 'decision.opened']);

    mustOk(await store.tx((tx) => resumeTask(tx, { taskId: a, actor: operator })));
    expect(await made.task('a')).toMatchObject({ status: 'todo', attempts: 0 });
    expect(await openDecisions(store)).toEqual([]);
  });

  it('pauses a task whose session a human stopped, and does not count one that is handed back', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }]);
    const { a = '', b = '' } = made.ids;
    mustOk(await release(store, a, await claim(store, a), 'stopped'));
    expect(await made.task('a')).toMatchObject({ status: 'paused', attempts: 0 });
    mustOk(await release(store, b, await claim(store, b), 'returned'));
    expect(await made.task('b')).toMatchObject({ status: 'todo', attempts: 0 });
  });

  it('changes nothing when the claim that ends is gone already', async () => {
    const { store } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    mustOk(await store.tx((tx) => cancelTask(tx, { taskId: a, actor: operator })));
    expect(await refusedCode(store, (tx) => heartbeat(tx, { taskId: a, fence }))).toBe('lease_lost');
    expect(await release(store, a, fence, 'failed')).toMatchObject({ ok: true, value: { released: false } });
    expect(await made.task('a')).toMatchObject({ status: 'cancelled', attempts: 0 });
  });

  it('shows a delivered task as held by its pull request, not as unstarted (README 2.10)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a = '' } = made.ids;
    await deliver(store, a);
    expect(mustOk(await showTask(store.read, a, 0))).toMatchObject({
      status: 'doing',
      phase: 'delivered',
      pullRequestId: 'pr-1',
    });
    expect(await readyTasks(store.read)).toEqual([]);
    expect(await claimAs(store, a, 'two')).toMatchObject({ ok: false, refusal: { code: 'task_delivered' } });
    expect((await made.job()).status).toBe('review');

    const rework = mustOk(await store.tx((tx) => claimRework(tx, { taskId: a, holder: 'two', actor: session })));
    expect((await made.job()).status).toBe('dev');
    expect((await listTasks(store.read, {}, 0)).tasks).toMatchObject([{ phase: 'working', holder: 'two' }]);
    mustOk(await release(store, a, rework.fence, 'failed'));
    expect(await made.task('a')).toMatchObject({ status: 'doing', attempts: 0 });
    expect((await made.job()).status).toBe('review');
    expect(await made.events()).toEqual([
      'task.claimed',
      'task.delivered',
      'job.review-started',
      'task.rework-claimed',
      'job.returned',
      'task.released',
      'job.review-started',
    ]);
  });

  it('keeps one pull request for a task: delivered again it is the same one, another one is refused', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }, { title: 'b' }]);
    const { a = '', b = '' } = made.ids;
    await deliver(store, a);
    const again = (pullRequestId: string, taskId = a) =>
      store.tx((tx) => deliverTask(tx, { taskId, pullRequestId, actor: session }));
    expect(await again('pr-1')).toMatchObject({ ok: true, value: { redelivered: true } });
    expect(await again('pr-2')).toMatchObject({ ok: false, refusal: { code: 'task_delivered' } });
    await claim(store, b);
    expect(await again('pr-3', b)).toMatchObject({ ok: false, refusal: { code: 'task_without_repository' } });
    expect(await refusedCode(store, (tx) => pauseTask(tx, { taskId: a, actor: operator }))).toBe('task_delivered');
  });

  it('starts a task anew when its pull request ends without landing, and asks a human after the third time', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a = '' } = made.ids;
    const end = (pullRequestId: string) =>
      store.tx((tx) => endDelivery(tx, { taskId: a, pullRequestId, next: 'todo', actor: session }));
    await deliver(store, a, 'pr-1');
    expect(await end('pr-9')).toMatchObject({ ok: true, value: { ended: false } });
    for (const [number, status] of [
      [1, 'todo'],
      [2, 'todo'],
      [3, 'paused'],
    ] as const) {
      if (number > 1) await deliver(store, a, `pr-${number}`);
      expect(await end(`pr-${number}`)).toMatchObject({ ok: true, value: { ended: true, task: { status } } });
    }
    expect((await openDecisions(store)).map((decision) => decision.kind)).toEqual(['attempts_exhausted']);
    expect((await made.job()).status).toBe('dev');
  });

  it('pauses with its session and goes on with the same claim, or alone', async () => {
    const { store, clock } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    mustOk(await store.tx((tx) => pauseTask(tx, { taskId: a, actor: session, keepClaim: true })));
    expect(await made.task('a')).toMatchObject({ status: 'paused' });
    mustOk(await store.tx((tx) => heartbeat(tx, { taskId: a, fence })));
    expect(mustOk(await store.tx((tx) => resumeTask(tx, { taskId: a, actor: session }))).status).toBe('doing');
    mustOk(await store.tx((tx) => pauseTask(tx, { taskId: a, actor: session, keepClaim: true })));
    clock.advance(claimTtlMs);
    expect(mustOk(await store.tx((tx) => resumeTask(tx, { taskId: a, actor: session }))).status).toBe('todo');
    expect(mustOk(await claimAs(store, a, 'two')).fence).toBe(fence + 1);
  });

  it('counts failed tests as failed tries and a passed one as a new beginning (L-35)', async () => {
    const { store } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    const test = (result: 'pass' | 'fail', withFence = fence) =>
      store.tx((tx) => recordTestResult(tx, { taskId: a, result, fence: withFence, actor: session }));
    mustOk(await test('fail'));
    expect(mustOk(await test('fail'))).toMatchObject({
      attempts: 2,
      model_recommended: 'high',
      last_test_result: 'fail',
    });
    expect(mustOk(await test('pass'))).toMatchObject({ attempts: 0, model_recommended: 'light' });
    expect(await test('pass', 7)).toMatchObject({ ok: false, refusal: { code: 'lease_lost' } });
    for (let i = 0; i < 3; i++) mustOk(await test('fail'));
    expect((await made.task('a')).status).toBe('paused');
    expect(await refusedCode(store, (tx) => heartbeat(tx, { taskId: a, fence }))).toBe('lease_lost');
  });

  it('lets a late session complete nothing: every write carries the fence (L-52)', async () => {
    const { store, clock } = await open();
    const made = await world(store);
    const { a = '' } = made.ids;
    const old = await claim(store, a);
    clock.advance(claimTtlMs);
    mustOk(await release(store, a, old, 'failed'));
    const fence = await claim(store, a, 'session-2');
    const complete = (number: number) =>
      store.tx((tx) =>
        completeTask(tx, { taskId: a, by: { kind: 'session', fence: number, sessionId: 's' }, actor: session }),
      );
    expect(await complete(old)).toMatchObject({ ok: false, refusal: { code: 'lease_lost' } });
    expect((await made.task('a')).status).toBe('doing');
    expect(await complete(fence)).toMatchObject({ ok: true });
  });
});
