import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore, openTestSqlite } from '../store/testing.ts';
import {
  addTasks,
  assignAgent,
  cancelJob,
  cancelTask,
  checkLedger,
  claimTask,
  completeProject,
  completeTask,
  confirmJob,
  deliverTask,
  endDelivery,
  pauseJob,
  pauseTask,
  releaseClaim,
  reopenTask,
  resumeJob,
  resumeTask,
  retireAgent,
  settleJob,
} from './index.ts';
import { agents, deliver, finish, moreJobs, moreTasks, openDecisions, operator, session, world } from './testing.ts';

eachStore((_dialect, open) => {
  it('ends job and project with the last task, in two recorded steps with their causes (LT-7, L-53, L-54, L-56)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }]);
    await finish(store, made.ids.a ?? '');
    expect((await made.job()).status).toBe('dev');
    await finish(store, made.ids.b ?? '');
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('test');
    await store.settled();
    const events = await store.read
      .selectFrom('event')
      .select(['id', 'kind', 'cause', 'actor_id'])
      .orderBy('seq')
      .execute();
    const [task, job, project] = ['task.completed', 'job.completed', 'project.promoted'].map((kind) =>
      events.findLast((event) => event.kind === kind),
    );
    expect(job?.cause).toBe(task?.id);
    expect(project?.cause).toBe(job?.id);
    expect([job?.actor_id, project?.actor_id]).toEqual(['cascade', 'cascade']);
  });

  it('changes nothing when it runs again (L-54)', async () => {
    const { store } = await open();
    const made = await world(store);
    await finish(store, made.ids.a ?? '');
    const before = await made.events();
    await store.tx((tx) => settleJob(tx, made.jobId, 'again'));
    expect(await made.events()).toEqual(before);
  });

  it('asks a human when everything was cancelled and nothing is done, and moves nothing (L-58, decision 9)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }]);
    for (const id of Object.values(made.ids))
      mustOk(await store.tx((tx) => cancelTask(tx, { taskId: id, actor: operator })));
    expect((await made.job()).status).toBe('dev');
    expect((await made.project()).status).toBe('dev');
    expect(await openDecisions(store)).toEqual([{ kind: 'nothing_delivered', subject_id: made.jobId, count: 1 }]);
    await moreTasks(made, { title: 'c' });
    expect(await openDecisions(store)).toEqual([]);
  });

  it('asks about the project when all its jobs are cancelled, and withdraws the question for a new job', async () => {
    const { store } = await open();
    const made = await world(store);
    mustOk(await store.tx((tx) => cancelJob(tx, { jobId: made.jobId, actor: operator })));
    expect((await made.task('a')).status).toBe('cancelled');
    expect(await openDecisions(store)).toEqual([{ kind: 'nothing_delivered', subject_id: made.projectId, count: 1 }]);
    await moreJobs(made, { codename: 'second-job', title: 'Second', tasks: [{ title: 'x' }] });
    expect(await openDecisions(store)).toEqual([]);
  });

  it('does not promote a project of which only discovery is done, and asks what follows (L-19, L-20, LT-10, decision 5)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }], { kind: 'discovery' });
    expect((await made.project()).status).toBe('planning');
    await finish(store, made.ids.a ?? '');
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('planning');
    expect((await made.events()).slice(-2)).toEqual(['project.discovery-finished', 'decision.opened']);
    const job = await moreJobs(made, { codename: 'second-job', title: 'Second', tasks: [{ title: 'x' }] });
    expect(await openDecisions(store)).toEqual([]);
    expect((await made.project()).status).toBe('dev');
    const x = await store.read.selectFrom('task').select('id').where('job_id', '=', job.id).executeTakeFirstOrThrow();
    await finish(store, x.id);
    expect((await made.project()).status).toBe('test');
  });

  it('is in review while only pull requests are waited for, and back in dev for a new task (README 2.8, decision 6)', async () => {
    const { store } = await open();
    const repo = { repository_id: 'repo-1' };
    const made = await world(store, [{ title: 'a', ...repo }, { title: 'b', ...repo }, { title: 'c' }]);
    await deliver(store, made.ids.a ?? '', 'pr-1');
    await deliver(store, made.ids.b ?? '', 'pr-2');
    expect((await made.job()).status).toBe('dev');
    await finish(store, made.ids.c ?? '');
    expect((await made.job()).status).toBe('review');
    await moreTasks(made, { title: 'd' });
    expect((await made.job()).status).toBe('dev');
    await finish(store, (await made.task('d')).id);
    const land = (taskId: string, landingId: string) =>
      store.tx((tx) => completeTask(tx, { taskId, by: { kind: 'landing', landingId }, actor: session }));
    mustOk(await land(made.ids.a ?? '', 'landing-1'));
    expect((await made.job()).status).toBe('review');
    mustOk(await land(made.ids.b ?? '', 'landing-2'));
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('test');
  });

  it('leaves a paused job alone when its tasks end, and looks again when it is resumed (decision 10)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
    const { a = '' } = made.ids;
    await deliver(store, a);
    mustOk(await store.tx((tx) => pauseJob(tx, { jobId: made.jobId, actor: operator, reason: 'wait' })));
    mustOk(
      await store.tx((tx) => completeTask(tx, { taskId: a, by: { kind: 'landing', landingId: 'l' }, actor: session })),
    );
    expect((await made.job()).status).toBe('paused');
    expect((await made.project()).status).toBe('dev');
    mustOk(await store.tx((tx) => resumeJob(tx, { jobId: made.jobId, actor: operator })));
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('test');
  });

  it('sends a finished job to its validation team, if that is there now (L-17, decision 14)', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    const made = await world(store, [{ title: 'a' }]);
    for (const agent of ['turing', 'hopper']) {
      const role = agent === 'turing' ? 'validation' : 'lead_validation';
      mustOk(await store.tx((tx) => assignAgent(tx, { projectId: made.projectId, agent, role, actor: operator })));
    }
    mustOk(await store.tx((tx) => retireAgent(tx, 'hopper', operator)));
    await finish(store, made.ids.a ?? '');
    expect((await made.job()).status).toBe('review');
    expect(await openDecisions(store)).toEqual([{ kind: 'human_review', subject_id: made.jobId, count: 1 }]);
    const before = await made.events();
    expect(before).toContain('job.qa-wanted');
    const confirm = (actor: typeof operator) =>
      store.tx((tx) => confirmJob(tx, { jobId: made.jobId, reason: 'looked at it', actor }));
    expect(await confirm(session)).toMatchObject({ ok: false, refusal: { code: 'humans_only' } });
    mustOk(await confirm(operator));
    expect((await made.job()).status).toBe('done');
    expect((await made.project()).status).toBe('test');
    expect(await openDecisions(store)).toEqual([]);
  });

  it('never marks a project done without a human (L-57)', async () => {
    const { store } = await open();
    const made = await world(store);
    const complete = (actor: typeof operator) =>
      store.tx((tx) => completeProject(tx, { projectId: made.projectId, reason: 'shipped 1.2', actor }));
    expect(await complete(operator)).toMatchObject({ ok: false, refusal: { code: 'project_wrong_state' } });
    await finish(store, made.ids.a ?? '');
    expect(await complete(session)).toMatchObject({ ok: false, refusal: { code: 'humans_only' } });
    mustOk(await complete(operator));
    expect(await made.project()).toMatchObject({ status: 'done', done_by: 'op-1' });
    const late = await store.tx((tx) => addTasks(tx, { jobId: made.jobId, tasks: [{ title: 'x' }], actor: operator }));
    expect(late).toMatchObject({ ok: false, refusal: { code: 'job_over' } });
  });
});

it('a task that waits for its pull request is not resumed, which would give it out a second time', async () => {
  const { store } = await openTestSqlite();
  const made = await world(store, [{ title: 'a', repository_id: 'repo-1' }]);
  const taskId = made.ids.a ?? '';
  const { fence } = mustOk(await store.tx((tx) => claimTask(tx, { taskId, holder: 'h', actor: session })));
  mustOk(await store.tx((tx) => deliverTask(tx, { taskId, pullRequestId: 'pr-1', fence, actor: session })));
  expect(await store.tx((tx) => resumeTask(tx, { taskId, actor: operator }))).toMatchObject({
    ok: false,
    refusal: { code: 'task_not_paused' },
  });
  expect(await checkLedger(store.read)).toEqual([]);
});

it('always agrees with what the tasks say, whatever happens to them (property)', async () => {
  const { store } = await openTestSqlite();
  const verb = fc.constantFrom(
    ...([
      'claim',
      'deliver',
      'land',
      'fail',
      'cancel',
      'reopen',
      'pause',
      'resume',
      'abandon',
      'pauseJob',
      'resumeJob',
    ] as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(verb, fc.nat(2)), { maxLength: 30 }), async (steps) => {
      const made = await world(
        store,
        ['a', 'b', 'c'].map((title) => ({ title, repository_id: 'repo-1' })),
      );
      const fences = new Map<string, number>();
      for (const [verbNow, index] of steps) {
        const taskId = made.ids['abc'[index] ?? 'a'] ?? '';
        const fence = fences.get(taskId) ?? 0;
        const actor = operator;
        await store.tx(async (tx) => {
          switch (verbNow) {
            case 'claim': {
              const taken = await claimTask(tx, { taskId, holder: 'h', actor: session });
              if (taken.ok) fences.set(taskId, taken.value.fence);
              return taken;
            }
            case 'deliver':
              return deliverTask(tx, { taskId, pullRequestId: `pr-${taskId}`, fence, actor: session });
            case 'land':
              return completeTask(tx, { taskId, by: { kind: 'landing', landingId: 'l' }, actor });
            case 'fail':
              return releaseClaim(tx, { taskId, fence, end: 'failed', actor: session });
            case 'cancel':
              return cancelTask(tx, { taskId, actor });
            case 'reopen':
              return reopenTask(tx, { taskId, reason: 'again', actor });
            case 'pause':
              return pauseTask(tx, { taskId, actor });
            case 'resume':
              return resumeTask(tx, { taskId, actor });
            case 'abandon':
              return endDelivery(tx, { taskId, pullRequestId: `pr-${taskId}`, next: 'todo', actor });
            case 'pauseJob':
              return pauseJob(tx, { jobId: made.jobId, actor });
            case 'resumeJob':
              return resumeJob(tx, { jobId: made.jobId, actor });
          }
        });
      }
      const tasks = await store.read.selectFrom('task').selectAll().where('job_id', '=', made.jobId).execute();
      const live = await store.read
        .selectFrom('lease')
        .select('resource_id')
        .where('released_at', 'is', null)
        .execute();
      const open = await store.read
        .selectFrom('task_delivery')
        .select('task_id')
        .where('ended_at', 'is', null)
        .execute();
      const [claimed, delivered] = [live.map((row) => row.resource_id), open.map((row) => row.task_id)];
      expect(await checkLedger(store.read)).toEqual([]);
      const job = await made.job();
      const project = await made.project();
      const isOver = tasks.every((task) => task.status === 'done' || task.status === 'cancelled');
      const hasDone = tasks.some((task) => task.status === 'done');
      const waits =
        tasks.some((task) => delivered.includes(task.id)) &&
        tasks.every(
          (task) =>
            ['done', 'cancelled'].includes(task.status) || (delivered.includes(task.id) && !claimed.includes(task.id)),
        );
      if (job.status !== 'paused') {
        expect(job.status).toBe(isOver && hasDone ? 'done' : waits ? 'review' : 'dev');
      }
      expect(project.status).toBe(job.status === 'done' ? 'test' : 'dev');
    }),
    { numRuns: 60 },
  );
});
