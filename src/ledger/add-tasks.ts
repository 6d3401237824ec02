import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { tasksStaffingFaults } from './add-job.ts';
import { settleJob, startProject } from './cascade.ts';
import { closure } from './dependency-closure.ts';
import { insertTasks } from './insert-tasks.ts';
import { tasksTopic } from './move-status.ts';
import { type InputFault, isObject } from './read-fields.ts';
import { type KnownTasks, maxTasksAtOnce, readTasks } from './read-tasks.ts';
import { resolveReferences, validationRefusal } from './resolve-references.ts';
import { type JobRow, lockJob, type TaskRow } from './rows.ts';
import { isOver } from './statuses.ts';

/**
 * Adds tasks with their dependencies to a job, all or nothing, up to 5,000 in one call: `add` and `import`. Each payload
 * holds the fields of a task (L-13), `key`, `blocked_by`, `skills` and `tools` (see `readTasks`). Refuses on a job that is
 * over; a job in review goes back to dev (decision 11).
 */
export async function addTasks(
  tx: Tx,
  addition: { jobId: string; tasks: readonly unknown[]; actor: Actor; origin?: string; cause?: string },
): Promise<Result<{ tasks: TaskRow[]; warnings: string[] }>> {
  const locked = await lockJob(tx, addition.jobId);
  if (!locked.ok) return locked;
  const { job, project } = locked.value;
  if (isOver(job.status) || isOver(project.status)) {
    return refuse(
      'wrong-state',
      'job_over',
      `Job ${job.codename} is ${job.status} and project ${project.codename} is ${project.status}; reopen what is over, or add another job.`,
      { job: job.id, status: job.status },
    );
  }
  const { tasks: list, actor } = addition;
  const faults: InputFault[] = [];
  if (list.length === 0 || list.length > maxTasksAtOnce) {
    faults.push({ path: 'tasks', code: 'no_tasks', message: `must be a list of 1 to ${maxTasksAtOnce} tasks` });
  }
  const tasks = readTasks(list, 'tasks', await knownTasks(tx, job, list), faults);
  const resolved = await resolveReferences(
    tx.db,
    tasks.flatMap((task) => task.references),
    faults,
  );
  faults.push(...(await tasksStaffingFaults(tx, project, tasks, resolved)));
  if (faults.length > 0) return validationRefusal(list.length === 1 ? 'task' : 'tasks', faults);

  const added = await insertTasks(tx, {
    job,
    tasks,
    resolved,
    actor,
    origin: addition.origin ?? 'api',
    ...(addition.cause ? { cause: addition.cause } : {}),
  });
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${job.id}` }, 'task added');
  await voidDecisions(tx, { dedupeKey: `human_review:${job.id}` }, 'task added');
  tx.wake(tasksTopic, job.id);
  if (job.status === 'review') {
    await settleJob(tx, job.id, added.eventId);
    await startProject(tx, project.id, added.eventId);
  }
  return ok({ tasks: added.rows, warnings: added.warnings });
}

/** Adds one task; as `addTasks` with a list of one. */
export async function addTask(
  tx: Tx,
  addition: { jobId: string; task: unknown; actor: Actor; origin?: string; cause?: string },
): Promise<Result<{ task: TaskRow; warnings: string[] }>> {
  const { task, ...rest } = addition;
  const added = await addTasks(tx, { ...rest, tasks: [task] });
  if (!added.ok) return added;
  return ok({ task: added.value.tasks[0] as TaskRow, warnings: added.value.warnings });
}

/** The tasks of the job that the new ones name, with what is above them; nothing is read when they name none. */
async function knownTasks(tx: Tx, job: JobRow, list: readonly unknown[]): Promise<KnownTasks> {
  const keys = new Set(list.flatMap((task) => (isObject(task) && typeof task.key === 'string' ? [task.key] : [])));
  const named = new Set<string>();
  for (const task of list) {
    if (!isObject(task) || !Array.isArray(task.blocked_by)) continue;
    for (const name of task.blocked_by as unknown[]) if (typeof name === 'string' && !keys.has(name)) named.add(name);
  }
  if (named.size === 0) return { ids: new Map(), blockers: new Map() };
  const names = [...named].slice(0, maxTasksAtOnce);
  const ofJob = tx.db.selectFrom('task').select(['id', 'codename']).where('job_id', '=', job.id);
  const byId = await ofJob.where('id', 'in', names).execute();
  const byName = await ofJob.where('project_id', '=', job.project_id).where('codename', 'in', names).execute();
  const rows = [...byId, ...byName];
  return {
    ids: new Map(rows.flatMap((row) => [[row.id, row.id] as const, [row.codename, row.id] as const])),
    blockers: await closure(
      tx.db,
      rows.map((row) => row.id),
      'blockers',
    ),
  };
}
