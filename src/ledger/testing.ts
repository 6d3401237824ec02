import { mustOk, type Actor, systemActor } from '../kernel/index.ts';
import type { Store, Tx } from '../store/index.ts';
import {
  addJob,
  addTasks,
  claimTask,
  completeTask,
  createProject,
  deliverTask,
  type JobRow,
  type ProjectRow,
  registerAgent,
  type TaskRow,
} from './index.ts';

/** The human of the tests. */
export const operator: Actor = { kind: 'operator', id: 'op-1', channel: 'console' };
/** An agent's session. */
export const session: Actor = { kind: 'session', id: 'session-1', generation: 1 };
/** Somebody who is neither. */
export const machine: Actor = systemActor('test');

/** A task of `world`: its title is its name. */
export interface TaskSpec {
  title: string;
  blocked_by?: (string | number)[];
  repository_id?: string;
  [field: string]: unknown;
}

/** A small project made by `createProject`, with its parts by name. */
export interface World {
  store: Store;
  projectId: string;
  jobId: string;
  /** Ids of its first tasks by title. */
  ids: Record<string, string>;
  project(): Promise<ProjectRow>;
  job(codename?: string): Promise<JobRow>;
  task(title: string): Promise<TaskRow>;
  /** Kinds of the sequenced events about the ledger, oldest first, without what the set-up wrote. */
  events(): Promise<string[]>;
}

let worlds = 0;

/** Makes a project with one job `first-job` and the given tasks (default `a`); keys are the titles. */
export async function world(
  store: Store,
  tasks: readonly TaskSpec[] = [{ title: 'a' }],
  job: Record<string, unknown> = {},
): Promise<World> {
  const codename = `world-${++worlds}`;
  const made = await store.tx(async (tx) =>
    mustOk(
      await createProject(tx, {
        actor: operator,
        payload: {
          codename,
          title: 'A world',
          first_job: { codename: 'first-job', title: 'First job', ...job },
          first_tasks: tasks.map((task) => ({ tokens_estimated: 1000, key: task.title, ...task })),
        },
      }),
    ),
  );
  await store.settled();
  const start = await lastSeq(store);
  const projectId = made.project_id ?? '';
  const read = store.read;
  return {
    store,
    projectId,
    jobId: made.job_id ?? '',
    ids: Object.fromEntries(tasks.map((task, index) => [task.title, made.task_ids[index] ?? ''])),
    project: () => read.selectFrom('project').selectAll().where('id', '=', projectId).executeTakeFirstOrThrow(),
    job: (name = 'first-job') =>
      read
        .selectFrom('job')
        .selectAll()
        .where('project_id', '=', projectId)
        .where('codename', '=', name)
        .executeTakeFirstOrThrow(),
    task: (title) =>
      read
        .selectFrom('task')
        .selectAll()
        .where('project_id', '=', projectId)
        .where('title', '=', title)
        .executeTakeFirstOrThrow(),
    async events() {
      await store.settled();
      const rows = await read.selectFrom('event').select('kind').where('seq', '>', start).orderBy('seq').execute();
      return rows.map((row) => row.kind).filter((kind) => !kind.startsWith('lease.'));
    },
  };
}

async function lastSeq(store: Store): Promise<number> {
  const row = await store.read
    .selectFrom('event')
    .select((eb) => eb.fn.max('seq').as('seq'))
    .executeTakeFirst();
  return Number(row?.seq ?? 0);
}

/** Registers active agents with these codenames. */
export async function agents(store: Store, ...codenames: string[]): Promise<void> {
  for (const codename of codenames) {
    await store.tx(async (tx) =>
      mustOk(
        await registerAgent(
          tx,
          { codename, family: 'test', driver: 'command', command: ['/bin/true'], roles: ['author'] },
          { actor: operator, source: 'operator' },
        ),
      ),
    );
  }
}

/** Claims a task as `holder` and gives its fence. */
export async function claim(store: Store, taskId: string, holder = 'session-1'): Promise<number> {
  const taken = await store.tx((tx) => claimTask(tx, { taskId, holder, actor: session }));
  return mustOk(taken).fence;
}

/** Takes a task from todo to done as a session without a repository does. */
export async function finish(store: Store, taskId: string): Promise<void> {
  const fence = await claim(store, taskId);
  await store.tx(async (tx) =>
    mustOk(await completeTask(tx, { taskId, by: { kind: 'session', fence, sessionId: 'session-1' }, actor: session })),
  );
}

/** Claims and delivers a task that has a repository. */
export async function deliver(store: Store, taskId: string, pullRequestId = 'pr-1'): Promise<void> {
  const fence = await claim(store, taskId);
  await store.tx(async (tx) => mustOk(await deliverTask(tx, { taskId, pullRequestId, fence, actor: session })));
}

/** Adds a job with tasks to a world. */
export async function moreJobs(made: World, payload: Record<string, unknown>): Promise<JobRow> {
  const { store, projectId } = made;
  const added = await store.tx((tx) => addJob(tx, { projectId, payload, actor: operator }));
  return mustOk(added).job;
}

/** Adds tasks to the first job of a world. */
export async function moreTasks(made: World, ...tasks: TaskSpec[]): Promise<TaskRow[]> {
  const added = await made.store.tx((tx) => addTasks(tx, { jobId: made.jobId, tasks, actor: operator }));
  return mustOk(added).tasks;
}

/** Runs a use case that must be refused and gives its code. */
export async function refusedCode(
  store: Store,
  fn: (tx: Tx) => Promise<{ ok: true } | { ok: false; refusal: { code: string } }>,
): Promise<string> {
  const result = await store.tx(fn);
  return result.ok ? 'not refused' : result.refusal.code;
}

/** Kinds and subjects of the open decisions. */
export async function openDecisions(store: Store): Promise<{ kind: string; subject_id: string; count: number }[]> {
  return store.read
    .selectFrom('decision_request')
    .select(['kind', 'subject_id', 'count'])
    .where('state', '=', 'open')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}
