import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import {
  addJob,
  addJobDependency,
  cancelJob,
  cancelProject,
  claimTask,
  completeProject,
  listJobDependencies,
  pauseJob,
  pauseProject,
  readyTasks,
  removeJobDependency,
  reopenJob,
  reopenProject,
  reopenTask,
  resumeJob,
  resumeProject,
  showJob,
  showProject,
  startJob,
} from './index.ts';
import { claim, deliver, finish, moreJobs, openDecisions, operator, refusedCode, session, world } from './testing.ts';

const second = { codename: 'second-job', title: 'Second', tasks: [{ title: 'x', tokens_estimated: 1 }] };

eachStore((_dialect, open) => {
  it('starts nothing of a paused job or project, and goes back to where it was', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }]);
    const ready = async (): Promise<number> => (await readyTasks(store.read)).length;
    mustOk(await store.tx((tx) => pauseJob(tx, { jobId: made.jobId, actor: operator, reason: 'waiting for keys' })));
    expect(await ready()).toBe(0);
    const refused = await store.tx((tx) => claimTask(tx, { taskId: made.ids.a ?? '', holder: 's', actor: session }));
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'task_held', facts: { job_status: 'paused' } } });
    await expect(
      store.tx((tx) => sql`update task set status = 'doing' where id = ${made.ids.a}`.execute(tx.db)),
    ).rejects.toThrow(/task_held/);
    mustOk(await store.tx((tx) => resumeJob(tx, { jobId: made.jobId, actor: operator })));
    expect(await ready()).toBe(2);

    mustOk(await store.tx((tx) => pauseProject(tx, { projectId: made.projectId, actor: operator })));
    expect(await ready()).toBe(0);
    expect(await refusedCode(store, (tx) => pauseProject(tx, { projectId: made.projectId, actor: operator }))).toBe(
      'project_wrong_state',
    );
    mustOk(await store.tx((tx) => resumeProject(tx, { projectId: made.projectId, actor: operator })));
    expect((await made.project()).status).toBe('dev');
    expect(await ready()).toBe(2);
    expect(await refusedCode(store, (tx) => resumeJob(tx, { jobId: made.jobId, actor: operator }))).toBe(
      'job_not_paused',
    );
    expect(await made.events()).toEqual(['job.paused', 'job.resumed', 'project.paused', 'project.resumed']);
  });

  it('resumes a job into review when it was there', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    await deliver(store, made.ids.a ?? '');
    mustOk(await store.tx((tx) => pauseJob(tx, { jobId: made.jobId, actor: operator })));
    expect(await made.job()).toMatchObject({ status: 'paused', status_before_pause: 'review' });
    expect(mustOk(await store.tx((tx) => resumeJob(tx, { jobId: made.jobId, actor: operator }))).status).toBe('review');
  });

  it('cancels everything of a project, ends claims and deliveries, and withdraws its questions', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', repository_id: 'repo-1' }, { title: 'c' }]);
    await claim(store, made.ids.a ?? '');
    await deliver(store, made.ids.b ?? '');
    mustOk(
      await store.tx((tx) => cancelProject(tx, { projectId: made.projectId, actor: operator, reason: 'no more' })),
    );
    expect((await made.project()).status).toBe('cancelled');
    expect((await made.job()).status).toBe('cancelled');
    const left = await store.read.selectFrom('task').select('id').where('status', '<>', 'cancelled').execute();
    expect(left).toEqual([]);
    const leases = await store.read.selectFrom('lease').select('id').where('released_at', 'is', null).execute();
    const deliveries = await store.read.selectFrom('task_delivery').select('outcome').execute();
    expect([leases, deliveries]).toEqual([[], [{ outcome: 'cancelled' }]]);
    expect(await openDecisions(store)).toEqual([]);
  });

  it('reopens a task with its job and project where they had moved on, and names who is not interrupted (decision 36)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b', blocked_by: ['a'] }]);
    const { a = '', b = '' } = made.ids;
    const reopen = (reason: string) => store.tx((tx) => reopenTask(tx, { taskId: a, reason, actor: operator }));
    expect(await reopen('why not')).toMatchObject({ ok: false, refusal: { code: 'task_not_over' } });
    await finish(store, a);
    await claim(store, b);
    const early = mustOk(await reopen('revert of landing 7'));
    expect(early.warnings).toEqual([expect.stringContaining('first-job-t2 had waited for first-job-t1')]);
    expect(await made.task('b')).toMatchObject({ status: 'doing', open_blockers: 1 });
    await finish(store, a);
    await store.tx((tx) => claimTask(tx, { taskId: b, holder: 'session-1', actor: session }));
    await finish(store, b);
    mustOk(
      await store.tx((tx) => completeProject(tx, { projectId: made.projectId, reason: 'shipped', actor: operator })),
    );

    expect(await reopen('')).toMatchObject({ ok: false, refusal: { code: 'reason_required' } });
    mustOk(await reopen('it broke'));
    expect([(await made.task('a')).status, (await made.job()).status, (await made.project()).status]).toEqual([
      'todo',
      'dev',
      'dev',
    ]);
    expect((await made.project()).done_at).toBeNull();
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['a']);
    expect((await made.events()).slice(-3)).toEqual(['project.reopened', 'job.reopened', 'task.reopened']);
  });

  it('reopens a job or a project alone (decision 7)', async () => {
    const { store } = await open();
    const made = await world(store);
    mustOk(await store.tx((tx) => cancelProject(tx, { projectId: made.projectId, actor: operator })));
    const reason = 'we want it after all';
    mustOk(await store.tx((tx) => reopenProject(tx, { projectId: made.projectId, reason, actor: operator })));
    expect((await made.job()).status).toBe('cancelled');
    mustOk(await store.tx((tx) => reopenJob(tx, { jobId: made.jobId, reason, actor: operator })));
    expect((await made.job()).status).toBe('dev');
    expect((await made.task('a')).status).toBe('cancelled');
    const again = await store.tx((tx) => reopenJob(tx, { jobId: made.jobId, reason, actor: operator }));
    expect(again).toMatchObject({ ok: false, refusal: { code: 'job_not_over' } });
  });

  it('makes a job wait for another and starts it by itself when that one ends (L-30, decision 33)', async () => {
    const { store } = await open();
    const made = await world(store);
    const job = await moreJobs(made, { ...second, blocked_by: ['first-job'] });
    expect(await made.job('second-job')).toMatchObject({ status: 'planning', open_blockers: 1 });
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['a']);
    expect(mustOk(await showJob(store.read, job.id)).waitsFor).toEqual(['first-job']);
    expect(await refusedCode(store, (tx) => startJob(tx, { jobId: job.id, actor: operator }))).toBe('job_blocked');
    await expect(
      store.tx((tx) => sql`update job set status = 'dev' where id = ${job.id}`.execute(tx.db)),
    ).rejects.toThrow(/job_blocked/);
    await finish(store, made.ids.a ?? '');
    expect(await made.job('second-job')).toMatchObject({ status: 'dev', open_blockers: 0 });
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['x']);
    expect((await made.events()).slice(-3)).toEqual(['task.completed', 'job.completed', 'job.started']);
    expect((await made.project()).status).toBe('dev');
  });

  it('keeps a job in planning until a human starts it', async () => {
    const { store } = await open();
    const made = await world(store);
    const job = await moreJobs(made, { ...second, status: 'planning' });
    expect((await readyTasks(store.read)).map((task) => task.title)).toEqual(['a']);
    mustOk(await store.tx((tx) => startJob(tx, { jobId: job.id, actor: operator })));
    expect(await readyTasks(store.read)).toHaveLength(2);
  });

  it('refuses circles of jobs, jobs of other projects and started jobs, by raw SQL too', async () => {
    const { store } = await open();
    const made = await world(store);
    const elsewhere = await world(store);
    const job = await moreJobs(made, { ...second, blocked_by: ['first-job'] });
    const add = (blockedJobId: string, blockerJobId: string, force = false) =>
      refusedCode(store, (tx) => addJobDependency(tx, { blockedJobId, blockerJobId, force, actor: operator }));
    expect(await add(made.jobId, job.id)).toBe('job_cycle');
    expect(await add(made.jobId, made.jobId)).toBe('job_cycle');
    expect(await add(made.jobId, elsewhere.jobId)).toBe('cross_project_dependency');
    expect(await add(job.id, made.jobId)).toBe('not refused');
    const third = await moreJobs(made, { ...second, codename: 'third-job' });
    expect(await add(third.id, made.jobId)).toBe('job_started');
    expect(await add(third.id, made.jobId, true)).toBe('not refused');
    expect(await made.job('third-job')).toMatchObject({ status: 'paused', open_blockers: 1 });
    expect(await refusedCode(store, (tx) => resumeJob(tx, { jobId: third.id, actor: operator }))).toBe('job_blocked');
    await expect(
      store.tx((tx) =>
        sql`insert into job_dependency (id, project_id, blocked_job_id, blocker_job_id, created_at)
          values ('raw', ${made.projectId}, ${made.jobId}, ${job.id}, 1)`.execute(tx.db),
      ),
    ).rejects.toThrow(/job_dependency_cycle/);
    expect(await listJobDependencies(store.read, made.projectId)).toHaveLength(2);
  });

  it('starts a waiting job when its edge is taken away, and counts right when a blocking job is deleted', async () => {
    const { store } = await open();
    const made = await world(store);
    const job = await moreJobs(made, { ...second, blocked_by: ['first-job'] });
    const edge = { blockedJobId: job.id, blockerJobId: made.jobId, actor: operator };
    mustOk(await store.tx((tx) => removeJobDependency(tx, edge)));
    expect((await made.job('second-job')).status).toBe('dev');
    expect(await store.tx((tx) => removeJobDependency(tx, edge))).toMatchObject({ value: { removed: false } });

    await moreJobs(made, { ...second, codename: 'third-job', blocked_by: ['first-job', 'second-job'] });
    await store.tx((tx) => sql`delete from job where id = ${made.jobId}`.execute(tx.db));
    expect((await made.job('third-job')).open_blockers).toBe(1);
    mustOk(await store.tx((tx) => cancelJob(tx, { jobId: job.id, actor: operator })));
    expect(await made.job('third-job')).toMatchObject({ open_blockers: 0, status: 'dev' });
  });

  it('adds no job to a project that is over, takes one in test back to dev, and collects what is wrong (decision 11)', async () => {
    const { store } = await open();
    const made = await world(store);
    await finish(store, made.ids.a ?? '');
    expect((await made.project()).status).toBe('test');
    const bad = { codename: 'first-job', title: '', tasks: [], blocked_by: ['nothing'], kind: 'companion' };
    const result = await store.tx((tx) => addJob(tx, { projectId: made.projectId, payload: bad, actor: operator }));
    const faults = result.ok ? [] : (result.refusal.facts?.faults as { path: string }[]);
    expect(faults.map((fault) => fault.path)).toEqual(['title', 'kind', 'tasks', 'blocked_by', 'codename']);
    expect((await made.project()).status).toBe('test');
    await moreJobs(made, second);
    expect((await made.project()).status).toBe('dev');
    expect(mustOk(await showProject(store.read, made.projectId)).jobs.map((job) => job.status)).toEqual([
      'done',
      'dev',
    ]);
    mustOk(await store.tx((tx) => cancelProject(tx, { projectId: made.projectId, actor: operator })));
    const late = (tx: Parameters<typeof addJob>[0]) =>
      addJob(tx, { projectId: made.projectId, payload: { ...second, codename: 'late-job' }, actor: operator });
    expect(await refusedCode(store, late)).toBe('project_over');
  });
});
