import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import {
  addDependency,
  addTask,
  addTasks,
  claimNext,
  claimTask,
  claimTtlMs,
  completeTask,
  deliverTask,
  expiredClaims,
  listTasks,
  readyTasks,
  releaseClaim,
  showTask,
  updateTask,
} from './index.ts';
import { claim, deliver, finish, moreTasks, operator, session, world } from './testing.ts';

eachStore((_dialect, open) => {
  it('never lets two workers claim one task and hand in two pull requests (field case 16)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a: taskId = '' } = made.ids;
    const workers = Array.from({ length: 6 }, (_, i) => `worker-${i}`);
    const claims = await Promise.all(
      workers.map((holder) => store.tx((tx) => claimTask(tx, { taskId, holder, actor: session }))),
    );
    const fences = claims.map((result) => (result.ok ? result.value.fence : 99));
    const handedIn = [];
    for (const [index, fence] of fences.entries()) {
      const pullRequestId = `pr-${index}`;
      handedIn.push(await store.tx((tx) => deliverTask(tx, { taskId, fence, pullRequestId, actor: session })));
    }
    expect(handedIn.filter((result) => result.ok)).toHaveLength(1);
    expect(await store.read.selectFrom('task_delivery').selectAll().execute()).toHaveLength(1);
  });

  it('never leaves the task of a dead agent in progress for ever (field case 17)', async () => {
    const { store, clock } = await open();
    const made = await world(store);
    const { a: taskId = '' } = made.ids;
    await claim(store, taskId, 'dead');
    clock.advance(claimTtlMs);
    const [late] = await expiredClaims(store.read, clock.now());
    expect(late).toMatchObject({ taskId, holder: 'dead' });
    const fence = late?.fence ?? 0;
    mustOk(await store.tx((tx) => releaseClaim(tx, { taskId, fence, end: 'failed', actor: session })));
    expect((await readyTasks(store.read)).map((task) => task.id)).toEqual([taskId]);
    expect(await expiredClaims(store.read, clock.now())).toEqual([]);
  });

  it('never shows delivered work as unstarted, so that nobody does it again (field case 20)', async () => {
    const { store, clock } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a: taskId = '' } = made.ids;
    await deliver(store, taskId);
    clock.advance(10 * claimTtlMs);
    expect(await readyTasks(store.read)).toEqual([]);
    expect(await store.tx((tx) => claimNext(tx, { holder: 'x', actor: session }))).toEqual({ ok: true, value: null });
    expect((await listTasks(store.read, {}, clock.now())).tasks).toMatchObject([
      { status: 'doing', phase: 'delivered', pullRequestId: 'pr-1' },
    ]);
  });

  it('never recommends work that is in progress, blocked, paused or over (field case 21)', async () => {
    const { store } = await open();
    const made = await world(store, [
      { title: 'working' },
      { title: 'over' },
      { title: 'free' },
      { title: 'blocked', blocked_by: ['free'] },
    ]);
    await claim(store, made.ids.working ?? '');
    await finish(store, made.ids.over ?? '');
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['free']);
    const phases = (await listTasks(store.read, {}, 0)).tasks.map((task) => [task.title, task.phase]);
    expect(Object.fromEntries(phases)).toEqual({ working: 'working', over: 'over', free: 'ready', blocked: 'blocked' });
  });

  it('never loses one of two edits while telling both that they succeeded (field case 23)', async () => {
    const { store } = await open();
    const made = await world(store);
    const { id: taskId, version } = await made.task('a');
    const edits = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const changes = { description: `edit ${i}` };
        return store.tx((tx) => updateTask(tx, { taskId, version, changes, actor: operator }));
      }),
    );
    const winner = edits.findIndex((result) => result.ok);
    expect(edits.filter((result) => result.ok)).toHaveLength(1);
    expect((await made.task('a')).description).toBe(`edit ${winner}`);
  });

  it('never gives two tasks that are added at once the same number (field case 27)', async () => {
    const { store } = await open();
    const made = await world(store);
    await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        store.tx((tx) => addTask(tx, { jobId: made.jobId, task: { title: `n${i}` }, actor: operator })),
      ),
    );
    const rows = await store.read.selectFrom('task').select(['seq', 'codename']).orderBy('seq').execute();
    expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 17 }, (_, i) => i + 1));
    expect(new Set(rows.map((row) => row.codename)).size).toBe(17);
  });

  it('never walks every way through a graph to find a cycle: 90 layers of two have 2^90 ways (field case 35)', async () => {
    const { store } = await open();
    const layers = Array.from({ length: 90 }, (_, layer) =>
      ['l', 'r'].map((side) => ({
        title: `${side}${layer}`,
        key: `${side}${layer}`,
        ...(layer > 0 ? { blocked_by: [`l${layer - 1}`, `r${layer - 1}`] } : {}),
      })),
    );
    const made = await world(store, [...layers.flat(), { title: 'last' }]);
    const edge = (blocked: string, blocker: string) =>
      store.tx((tx) =>
        addDependency(tx, {
          blockedTaskId: made.ids[blocked] ?? '',
          blockerTaskId: made.ids[blocker] ?? '',
          actor: operator,
        }),
      );
    expect(await edge('l0', 'l89')).toMatchObject({ ok: false, refusal: { code: 'dag_cycle' } });
    expect(await edge('last', 'l89')).toMatchObject({ ok: true, value: { added: true } });
    expect(await edge('r0', 'last')).toMatchObject({ ok: false, refusal: { code: 'dag_cycle' } });
  });

  it('never leaves a job stuck or ends it too early when tasks end, fail or are added at once (field case 36)', async () => {
    const { store } = await open();
    const made = await world(
      store,
      Array.from({ length: 6 }, (_, i) => ({ title: `t${i}` })),
    );
    const fences = new Map<string, number>();
    for (const id of Object.values(made.ids)) fences.set(id, await claim(store, id));
    const [failing = '', ...finishing] = Object.values(made.ids);
    await Promise.all([
      ...finishing.map((taskId) =>
        store.tx((tx) =>
          completeTask(tx, {
            taskId,
            by: { kind: 'session', fence: fences.get(taskId) ?? 0, sessionId: 's' },
            actor: session,
          }),
        ),
      ),
      store.tx((tx) =>
        releaseClaim(tx, { taskId: failing, fence: fences.get(failing) ?? 0, end: 'failed', actor: session }),
      ),
      store.tx((tx) => addTasks(tx, { jobId: made.jobId, tasks: [{ title: 'late' }], actor: operator })),
    ]);
    expect((await made.job()).status).toBe('dev');
    await finish(store, failing);
    expect((await made.job()).status).toBe('dev');
    await finish(store, (await made.task('late')).id);
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('test');
  });

  it('never gives broken JSON, or anything but the text itself, for many lines and backticks (field case 42)', async () => {
    const { store } = await open();
    const text = 'line one\nline `two` $(rm -rf x) "three"\n\tfour \\ five';
    const made = await world(store);
    const [task] = await moreTasks(made, { title: '`id` "quoted"', description: text });
    const shown = mustOk(await showTask(store.read, task?.id ?? '', 0));
    const line = JSON.stringify(shown);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toMatchObject({ title: '`id` "quoted"', row: { description: text } });
  });
});
