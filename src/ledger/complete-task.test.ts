import { expect, it } from 'vitest';

import { type Actor, mustOk } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { eachStore } from '../store/testing.ts';
import { claimTask, type Completion, completeTask, pauseJob, readyTasks } from './index.ts';
import { claim, deliver, machine, operator, session, world } from './testing.ts';

const complete = (store: Store, taskId: string, by: Completion, actor: Actor) =>
  store.tx((tx) => completeTask(tx, { taskId, by, actor }));
const human = (reason = 'done by hand', proof = true): Completion => ({ kind: 'human', reason, proof });

eachStore((_dialect, open) => {
  it('completes a task without a repository by its session, and frees what it blocked', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    const done = mustOk(await complete(store, a, { kind: 'session', fence, sessionId: 's' }, session));
    expect(done).toMatchObject({ already: false, task: { status: 'done' } });
    expect(done.task.ended_at).not.toBeNull();
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['b']);
    const leases = await store.read.selectFrom('lease').select('id').where('released_at', 'is', null).execute();
    expect(leases).toEqual([]);
  });

  it('refuses a session that wants to complete a task with a repository: it is done by landing (design 7)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    const result = await complete(store, a, { kind: 'session', fence, sessionId: 's' }, session);
    expect(result).toMatchObject({ ok: false, refusal: { code: 'needs_landing' } });
    expect((await made.task('a')).status).toBe('doing');
  });

  it('completes by landing once; the same landing again changes nothing', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a = '' } = made.ids;
    await deliver(store, a);
    const landing: Completion = { kind: 'landing', landingId: 'landing-1' };
    expect(await complete(store, a, landing, machine)).toMatchObject({ ok: true, value: { already: false } });
    const events = await made.events();
    expect(await complete(store, a, landing, machine)).toMatchObject({ ok: true, value: { already: true } });
    expect(await made.events()).toEqual(events);
    const delivery = await store.read.selectFrom('task_delivery').selectAll().executeTakeFirstOrThrow();
    expect(delivery).toMatchObject({ outcome: 'landed' });
  });

  it('lets a human complete with a reason, with a repository only with proof; nobody else', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }, { title: 'b' }, { title: 'c' }]);
    const { a = '', b = '' } = made.ids;
    const cli: Actor = { kind: 'operator-cli', id: 'op-1' };
    const code = async (taskId: string, by: Completion, actor: Actor): Promise<string> => {
      const result = await complete(store, taskId, by, actor);
      return result.ok ? 'ok' : result.refusal.code;
    };
    expect(await code(a, human(), session)).toBe('humans_only');
    expect(await code(a, human(), machine)).toBe('humans_only');
    expect(await code(a, human(''), operator)).toBe('reason_required');
    expect(await code(a, human('r', false), operator)).toBe('proof_required');
    expect(await code(a, human(), cli)).toBe('proof_required');
    expect(await code(a, human(), operator)).toBe('ok');
    expect(await code(b, human('r', false), cli)).toBe('ok');
    expect(await code(b, human(), operator)).toBe('task_wrong_state');
    const text = await store.read.selectFrom('ledger_text').selectAll().where('subject_id', '=', a).execute();
    expect(text).toMatchObject([{ kind: 'reason', field: 'complete', text: 'done by hand' }]);
    await store.settled();
    const facts = await store.read.selectFrom('event').select('facts').where('kind', '=', 'task.completed').execute();
    for (const row of facts) expect(row.facts).not.toContain('by hand');
  });

  it('refuses to complete a task that waits for others, or whose job is paused, even by a human (field case 34)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const { a = '', b = '' } = made.ids;
    expect(await complete(store, b, human(), operator)).toMatchObject({ ok: false, refusal: { code: 'task_blocked' } });
    mustOk(await store.tx((tx) => pauseJob(tx, { jobId: made.jobId, actor: operator })));
    expect(await complete(store, a, human(), operator)).toMatchObject({ ok: false, refusal: { code: 'task_held' } });
    expect((await made.task('a')).status).toBe('todo');
  });

  it('takes a task from the session that works on it when a human completes it', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }]);
    const { a = '' } = made.ids;
    const fence = await claim(store, a);
    mustOk(await complete(store, a, human(), operator));
    const late = await complete(store, a, { kind: 'session', fence, sessionId: 's' }, session);
    expect(late).toMatchObject({ ok: false, refusal: { code: 'lease_lost' } });
    const again = await store.tx((tx) => claimTask(tx, { taskId: a, holder: 's', actor: session }));
    expect(again).toMatchObject({ ok: false, refusal: { code: 'task_wrong_state' } });
  });
});
