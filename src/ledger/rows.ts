import { forLog, refuse, type Refused, type Result, ok } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import type { Kysely } from 'kysely';

export type ProjectRow = Schema['project'];
export type JobRow = Schema['job'];
export type TaskRow = Schema['task'];
export type AgentRow = Schema['agent'];

/** The part of a transaction or of `store.read` that reading needs. */
export type Db = Kysely<Schema>;

/** A task with what it belongs to, all three locked. */
export interface LockedTask {
  task: TaskRow;
  job: JobRow;
  project: ProjectRow;
}

/** Reads a project, and holds it first (order of locks: project → job → task, design section 5). */
export async function lockProject(tx: Tx, projectId: string): Promise<Result<ProjectRow>> {
  await tx.lock('project', projectId);
  const project = await tx.db.selectFrom('project').selectAll().where('id', '=', projectId).executeTakeFirst();
  return project ? ok(project) : unknownItem('project', projectId);
}

/** Reads a job and its project and holds both. */
export async function lockJob(tx: Tx, jobId: string): Promise<Result<{ job: JobRow; project: ProjectRow }>> {
  const place = await tx.db.selectFrom('job').select('project_id').where('id', '=', jobId).executeTakeFirst();
  if (!place) return unknownItem('job', jobId);
  const project = await lockProject(tx, place.project_id);
  if (!project.ok) return project;
  await tx.lock('job', jobId);
  const job = await tx.db.selectFrom('job').selectAll().where('id', '=', jobId).executeTakeFirst();
  return job ? ok({ job, project: project.value }) : unknownItem('job', jobId);
}

/** Reads a task with its job and project and holds all three. */
export async function lockTask(tx: Tx, taskId: string): Promise<Result<LockedTask>> {
  const place = await tx.db.selectFrom('task').select('job_id').where('id', '=', taskId).executeTakeFirst();
  if (!place) return unknownItem('task', taskId);
  const above = await lockJob(tx, place.job_id);
  if (!above.ok) return above;
  await tx.lock('task', taskId);
  const task = await tx.db.selectFrom('task').selectAll().where('id', '=', taskId).executeTakeFirst();
  return task ? ok({ task, ...above.value }) : unknownItem('task', taskId);
}

/** The refusal for an id or name that nothing has. */
export function unknownItem(kind: string, ref: string): Refused {
  const shown = forLog(ref, 130);
  return refuse('not-found', `unknown_${kind}`, `unknown ${kind} ${shown}`, { [kind]: shown });
}

/** Finds a project by id or codename. */
export async function findProject(db: Db, ref: string): Promise<Result<ProjectRow>> {
  const rows = await db
    .selectFrom('project')
    .selectAll()
    .where((eb) => eb.or([eb('id', '=', ref), eb('codename', '=', ref)]))
    .limit(2)
    .execute();
  const project = rows.find((row) => row.id === ref) ?? rows[0];
  return project ? ok(project) : unknownItem('project', ref);
}

/** Finds a job by id or by `<project>/<job>`. */
export async function findJob(db: Db, ref: string): Promise<Result<JobRow>> {
  const [projectName, name] = ref.split('/');
  let query = db.selectFrom('job').selectAll('job');
  query = name
    ? query
        .innerJoin('project', 'project.id', 'job.project_id')
        .where('project.codename', '=', projectName ?? '')
        .where('job.codename', '=', name)
    : query.where('job.id', '=', ref);
  const job = await query.executeTakeFirst();
  return job ? ok(job) : unknownItem('job', ref);
}

/** Finds a task by id or by its work key `<project>/<task>`. */
export async function findTask(db: Db, ref: string): Promise<Result<TaskRow>> {
  const [projectName, name] = ref.split('/');
  let query = db.selectFrom('task').selectAll('task');
  query = name
    ? query
        .innerJoin('project', 'project.id', 'task.project_id')
        .where('project.codename', '=', projectName ?? '')
        .where('task.codename', '=', name)
    : query.where('task.id', '=', ref);
  const task = await query.executeTakeFirst();
  return task ? ok(task) : unknownItem('task', ref);
}
