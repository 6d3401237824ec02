import * as fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore, openTestSqlite } from '../store/testing.ts';
import { depths, findPath } from './dependency-graph.ts';
import {
  addDependency,
  addTasks,
  blockersOf,
  cancelTask,
  claimTask,
  isTaskUnblocked,
  listDependencies,
  readyTasks,
  removeDependency,
  reopenTask,
  showTask,
} from './index.ts';
import { claim, finish, moreJobs, operator, refusedCode, session, type World, world } from './testing.ts';

const letters = (count: number): { title: string }[] => Array.from({ length: count }, (_, i) => ({ title: `t${i}` }));

const add = (made: World, blocked: string, blocker: string, more: { onCancel?: 'hold'; force?: boolean } = {}) =>
  made.store.tx((tx) =>
    addDependency(tx, {
      blockedTaskId: made.ids[blocked] ?? blocked,
      blockerTaskId: made.ids[blocker] ?? blocker,
      actor: operator,
      ...more,
    }),
  );

const codeOf = (result: Awaited<ReturnType<typeof add>>): string => (result.ok ? 'ok' : result.refusal.code);

const readyTitles = async (made: World): Promise<string[]> =>
  (await readyTasks(made.store.read)).map((task) => task.title);

eachStore((_dialect, open) => {
  it('refuses a cycle of three, a self-edge and a cross-job edge; a duplicate changes nothing (LT-4, L-26, L-28)', async () => {
    const { store } = await open();
    const made = await world(store, letters(3));
    const other = await moreJobs(made, { codename: 'other-job', title: 'Other', tasks: [{ title: 'x' }] });
    const x = await store.read.selectFrom('task').select('id').where('job_id', '=', other.id).executeTakeFirstOrThrow();
    expect(codeOf(await add(made, 't1', 't0'))).toBe('ok');
    expect(codeOf(await add(made, 't2', 't1'))).toBe('ok');
    expect(codeOf(await add(made, 't0', 't2'))).toBe('dag_cycle');
    expect(codeOf(await add(made, 't0', 't0'))).toBe('dag_cycle');
    expect(codeOf(await add(made, 't0', x.id))).toBe('cross_job_dependency');
    expect(codeOf(await add(made, 't0', 'nothing'))).toBe('unknown_task');
    expect(await add(made, 't1', 't0')).toEqual({ ok: true, value: { added: false } });
    expect((await listDependencies(store.read, made.jobId)).map((e) => [e.blocked.title, e.blocker.title])).toEqual([
      ['t1', 't0'],
      ['t2', 't1'],
    ]);
    expect((await made.events()).filter((kind) => kind === 'dependency.added')).toHaveLength(2);
  });

  it('refuses cycles, self-edges, cross-job edges and updated edges by raw SQL too', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const other = await moreJobs(made, { codename: 'other-job', title: 'Other', tasks: [{ title: 'x' }] });
    const x = await store.read.selectFrom('task').select('id').where('job_id', '=', other.id).executeTakeFirstOrThrow();
    const insert = (blocked: string, blocker: string, jobId = made.jobId): Promise<unknown> =>
      store.tx((tx) =>
        sql`insert into task_dependency (id, job_id, blocked_task_id, blocker_task_id, created_by, created_at)
          values (${`${blocked}-${blocker}`}, ${jobId}, ${blocked}, ${blocker}, 'raw', 1)`.execute(tx.db),
      );
    const { a = '', b = '' } = made.ids;
    await expect(insert(a, b)).rejects.toThrow(/task_dependency_cycle/);
    await expect(insert(a, a)).rejects.toThrow(/check|cycle/i);
    await expect(insert(a, x.id)).rejects.toThrow(/foreign key/i);
    await expect(insert(a, x.id, other.id)).rejects.toThrow(/foreign key/i);
    await expect(store.tx((tx) => sql`update task_dependency set on_cancel = 'hold'`.execute(tx.db))).rejects.toThrow(
      /dependency_not_updatable/,
    );
    expect(await listDependencies(store.read, made.jobId)).toHaveLength(1);
  });

  it('refuses to start a blocked task, and to insert a started one, by raw SQL too', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const start = sql`update task set status = 'doing' where id = ${made.ids.b}`;
    await expect(store.tx((tx) => start.execute(tx.db))).rejects.toThrow(/task_blocked/);
    await expect(
      store.tx((tx) =>
        sql`insert into task (id, job_id, project_id, seq, codename, title, status, created_at, updated_at)
          values ('raw-task', ${made.jobId}, ${made.projectId}, 99, 'raw-task', 'Raw', 'doing', 1, 1)`.execute(tx.db),
      ),
    ).rejects.toThrow(/task_inserted_started/);
    expect(
      await refusedCode(store, (tx) => claimTask(tx, { taskId: made.ids.b ?? '', holder: 's', actor: session })),
    ).toBe('task_blocked');
  });

  it('frees what a cancelled task blocked and says so, unless the edge holds (LT-5, L-29, decision 34)', async () => {
    const { store } = await open();
    const made = await world(store, letters(3));
    await add(made, 't1', 't0');
    await add(made, 't2', 't0', { onCancel: 'hold' });
    await store.tx((tx) => cancelTask(tx, { taskId: made.ids.t0 ?? '', actor: operator }));
    expect(await readyTitles(made)).toEqual(['t1']);
    expect(await isTaskUnblocked(store.read, made.ids.t2 ?? '')).toBe(false);
    const shown = mustOk(await showTask(store.read, made.ids.t1 ?? '', 0));
    expect(shown.attention).toEqual(['blocker_cancelled: first-job-t1']);
    await store.tx((tx) => reopenTask(tx, { taskId: made.ids.t0 ?? '', reason: 'wrong', actor: operator }));
    expect(await readyTitles(made)).toEqual(['t0']);
    await finish(store, made.ids.t0 ?? '');
    expect(await readyTitles(made)).toEqual(['t1', 't2']);
  });

  it('takes 100 tasks in a row and refuses the 101st with dag_too_deep, from either end (LT-6, decision 35)', async () => {
    const { store } = await open();
    const chain = Array.from({ length: 100 }, (_, i) => ({ title: `t${i}`, ...(i > 0 ? { blocked_by: [i] } : {}) }));
    const made = await world(store, [...chain, { title: 'below' }, { title: 'above' }, { title: 'beside' }]);
    expect(codeOf(await add(made, 'below', 't99'))).toBe('dag_too_deep');
    expect(codeOf(await add(made, 't0', 'above'))).toBe('dag_too_deep');
    expect(codeOf(await add(made, 't99', 'beside'))).toBe('ok');
    expect(codeOf(await add(made, 'below', 't98'))).toBe('ok');
    const tasks = [{ title: 'late', blocked_by: ['first-job-t100'] }];
    const code = await refusedCode(store, (tx) => addTasks(tx, { jobId: made.jobId, tasks, actor: operator }));
    expect(code).toBe('validation_failed');
  });

  it('refuses a cycle inside an import and names the way', async () => {
    const { store } = await open();
    const made = await world(store);
    const result = await store.tx((tx) =>
      addTasks(tx, {
        jobId: made.jobId,
        actor: operator,
        tasks: [
          { key: 'x', title: 'x', blocked_by: ['y'] },
          { key: 'y', title: 'y', blocked_by: ['x', 'first-job-t1'] },
        ],
      }),
    );
    expect(result).toMatchObject({
      ok: false,
      refusal: { message: expect.stringMatching(/circle: tasks\[\d\] → tasks/) },
    });
  });

  it('makes a started task wait only by force, and pauses it then (decision 36)', async () => {
    const { store } = await open();
    const made = await world(store, letters(2));
    await claim(store, made.ids.t1 ?? '');
    expect(codeOf(await add(made, 't1', 't0'))).toBe('task_started');
    expect(codeOf(await add(made, 't1', 't0', { force: true }))).toBe('ok');
    expect(await made.task('t1')).toMatchObject({ status: 'paused', open_blockers: 1 });
  });

  it('removes an edge once and any number of times (L-27)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const { a = '', b = '' } = made.ids;
    const remove = () =>
      store.tx((tx) => removeDependency(tx, { blockedTaskId: b, blockerTaskId: a, actor: operator }));
    expect(await blockersOf(store.read, b)).toHaveLength(1);
    expect(await remove()).toEqual({ ok: true, value: { removed: true } });
    expect(await remove()).toEqual({ ok: true, value: { removed: false } });
    expect(await readyTitles(made)).toEqual(['a', 'b']);
    expect(await made.events()).toEqual(['dependency.removed']);
  });

  it('keeps the counters right when a blocker, a blocked task or the whole project is deleted', async () => {
    const { store } = await open();
    const made = await world(store, [
      { title: 'a' },
      { title: 'b', blocked_by: ['a'] },
      { title: 'c', blocked_by: ['a', 'b'] },
    ]);
    await store.tx((tx) => sql`delete from task where id = ${made.ids.a}`.execute(tx.db));
    expect((await made.task('b')).open_blockers).toBe(0);
    expect((await made.task('c')).open_blockers).toBe(1);
    await store.tx((tx) => sql`delete from task where id = ${made.ids.c}`.execute(tx.db));
    expect((await made.task('b')).open_blockers).toBe(0);
    await store.tx((tx) => sql`delete from project where id = ${made.projectId}`.execute(tx.db));
    expect(await store.read.selectFrom('task').selectAll().execute()).toEqual([]);
  });
});

it('finds cycles, depths and paths in any graph, each node once', () => {
  const edges = fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 40 });
  fc.assert(
    fc.property(edges, (list) => {
      const blockers = new Map<string, string[]>();
      for (const [blocked, blocker] of list) {
        const known = blockers.get(`${blocked}`) ?? [];
        if (!known.includes(`${blocker}`)) blockers.set(`${blocked}`, [...known, `${blocker}`]);
      }
      const result = depths(blockers);
      if ('cycle' in result) {
        expect(result.cycle.length).toBeGreaterThan(0);
        for (const [at, node] of result.cycle.entries()) {
          const next = result.cycle[(at + 1) % result.cycle.length] ?? '';
          expect(blockers.get(node)).toContain(next);
        }
      } else {
        for (const [blocked, its] of blockers) {
          for (const blocker of its) {
            expect(result.depth.get(blocked) ?? 0).toBeGreaterThan(result.depth.get(blocker) ?? 0);
            expect(findPath(blockers, blocker, blocked)).toBeUndefined();
          }
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('lets no sequence of edges, moves and deletions make a cycle or a wrong counter (property)', async () => {
  const { store } = await openTestSqlite();
  const task = fc.nat(5);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), a: task, b: task, hold: fc.boolean() }) },
    fc.record({ do: fc.constant('remove' as const), a: task, b: task }),
    fc.record({
      do: fc.constantFrom('cancel' as const, 'reopen' as const, 'finish' as const, 'delete' as const),
      a: task,
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const made = await world(store, letters(6));
      const id = (index: number): string => made.ids[`t${index}`] ?? '';
      for (const one of steps) {
        if (one.do === 'add') await add(made, id(one.a), id(one.b), one.hold ? { onCancel: 'hold' } : {});
        if (one.do === 'remove') {
          await store.tx((tx) =>
            removeDependency(tx, { blockedTaskId: id(one.a), blockerTaskId: id(one.b), actor: operator }),
          );
        }
        if (one.do === 'cancel') await store.tx((tx) => cancelTask(tx, { taskId: id(one.a), actor: operator }));
        if (one.do === 'reopen') {
          await store.tx((tx) => reopenTask(tx, { taskId: id(one.a), reason: 'again', actor: operator }));
        }
        if (one.do === 'finish') await finish(store, id(one.a)).catch(() => {});
        if (one.do === 'delete') await store.tx((tx) => sql`delete from task where id = ${id(one.a)}`.execute(tx.db));
      }
      const rows = await store.read.selectFrom('task').selectAll().where('job_id', '=', made.jobId).execute();
      const edges = await store.read
        .selectFrom('task_dependency')
        .selectAll()
        .where('job_id', '=', made.jobId)
        .execute();
      const statusOf = new Map(rows.map((row) => [row.id, row.status]));
      const blockers = new Map<string, string[]>();
      for (const edge of edges) {
        blockers.set(edge.blocked_task_id, [...(blockers.get(edge.blocked_task_id) ?? []), edge.blocker_task_id]);
      }
      expect('depth' in depths(blockers)).toBe(true);
      for (const row of rows) {
        const open = edges.filter((edge) => {
          if (edge.blocked_task_id !== row.id) return false;
          const status = statusOf.get(edge.blocker_task_id);
          return !(status === 'done' || (status === 'cancelled' && edge.on_cancel === 'unblock'));
        });
        expect(row.open_blockers).toBe(open.length);
      }
    }),
    { numRuns: 40 },
  );
});
