import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { codenamePattern, mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import {
  benchImport,
  benchReady,
  findJob,
  findProject,
  findTask,
  listProjects,
  listTasks,
  proposeCodename,
  readyTasks,
  showProject,
  workKey,
} from './index.ts';
import { claim, deliver, finish, moreTasks, world } from './testing.ts';

eachStore((_dialect, open) => {
  it('finds projects, jobs and tasks by id and by name', async () => {
    const { store } = await open();
    const made = await world(store);
    const project = await made.project();
    const task = await made.task('a');
    expect(mustOk(await findProject(store.read, project.codename)).id).toBe(project.id);
    expect(mustOk(await findProject(store.read, project.id)).id).toBe(project.id);
    expect(mustOk(await findJob(store.read, `${project.codename}/first-job`)).id).toBe(made.jobId);
    expect(mustOk(await findJob(store.read, made.jobId)).id).toBe(made.jobId);
    expect(workKey(project, task)).toBe(`${project.codename}/first-job-t1`);
    expect(mustOk(await findTask(store.read, workKey(project, task))).id).toBe(task.id);
    expect(mustOk(await findTask(store.read, task.id)).id).toBe(task.id);
    for (const found of [
      await findProject(store.read, 'x'),
      await findJob(store.read, 'x/y'),
      await findTask(store.read, 'x'),
    ]) {
      expect(found).toMatchObject({ ok: false, refusal: { kind: 'not-found' } });
    }
  });

  it('counts what a project has in each state', async () => {
    const { store } = await open();
    const repo = { repository_id: 'repo-1' };
    const made = await world(store, [
      { title: 'a' },
      { title: 'b', blocked_by: ['a'] },
      { title: 'c', ...repo },
      { title: 'd' },
      { title: 'e' },
    ]);
    await deliver(store, made.ids.c ?? '');
    await claim(store, made.ids.d ?? '');
    await finish(store, made.ids.e ?? '');
    const counts = { todo: 2, ready: 1, doing: 2, delivered: 1, done: 1, paused: 0, cancelled: 0 };
    const detail = mustOk(await showProject(store.read, made.projectId));
    expect(detail.counts).toEqual(counts);
    expect(detail.jobs).toMatchObject([{ codename: 'first-job', status: 'dev', waitsFor: [], counts }]);
    expect((await listProjects(store.read)).projects).toMatchObject([{ id: made.projectId, counts, openDecisions: 0 }]);
  });

  it('pages through projects and tasks without missing or repeating one', async () => {
    const { store } = await open();
    const made = await world(store);
    await world(store);
    await world(store);
    await moreTasks(made, ...Array.from({ length: 6 }, (_, i) => ({ title: `n${i}` })));
    const seen: string[] = [];
    let after: string | null = '';
    while (after !== null) {
      const page: { projects: { id: string }[]; next: string | null } = await listProjects(store.read, {
        limit: 2,
        ...(after ? { after } : {}),
      });
      seen.push(...page.projects.map((project) => project.id));
      after = page.next;
    }
    expect(seen).toHaveLength(3);
    expect(seen.at(-1)).toBe(made.projectId);
    const first = await listTasks(store.read, { projectId: made.projectId, limit: 4 }, 0);
    const second = await listTasks(store.read, { projectId: made.projectId, limit: 4, after: first.next ?? '' }, 0);
    expect([first.tasks.length, second.tasks.length, second.next]).toEqual([4, 3, null]);
    expect((await listTasks(store.read, { status: ['done'], jobId: made.jobId }, 0)).tasks).toEqual([]);
    expect((await listProjects(store.read, { status: ['test'] })).projects).toEqual([]);
  });

  it('lists ready tasks by priority, then in the order of their making', async () => {
    const { store, clock } = await open();
    const made = await world(store, [{ title: 'p2' }, { title: 'p0', priority: 'P0' }]);
    clock.advance(1000);
    await moreTasks(made, { title: 'late p2' }, { title: 'p1', priority: 'P1' });
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['p0', 'p1', 'p2', 'late p2']);
    expect(await readyTasks(store.read, { limit: 2 })).toHaveLength(2);
    expect(await readyTasks(store.read, { projectId: 'other' })).toEqual([]);
  });

  it('imports 100 tasks with their edges in one call and measures it', async () => {
    const { store } = await open();
    const figures = await benchImport(store, 100, 1);
    expect(figures).toMatchObject({ name: 'ledger.import', tasks: 100, runs: 1 });
    const edges = await store.read.selectFrom('task_dependency').select('id').execute();
    expect(edges).toHaveLength(200);
    expect(await benchReady(store, 20, 2)).toHaveLength(2);
  });
});

it('makes a valid codename of any title (L-33a)', () => {
  expect(proposeCodename('Réparer: the Login — page!', 'x7k2')).toBe('reparer-the-login-page-x7k2');
  expect(proposeCodename('修复', 'x7k2')).toBe('work-x7k2');
  fc.assert(
    fc.property(fc.string(), (title) => {
      expect(proposeCodename(title, 'ab12')).toMatch(codenamePattern);
    }),
  );
});
