import { type Actor, newId, ok, refuse, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { startProject } from './cascade.ts';
import { insertTasks } from './insert-tasks.ts';
import { insertJobEdge } from './job-dependencies.ts';
import { type InputFault, isObject, type Value } from './read-fields.ts';
import { readJob, type ReadJob } from './read-skeleton.ts';
import { maxTasksAtOnce, readTasks } from './read-tasks.ts';
import { resolveReferences, validationRefusal } from './resolve-references.ts';
import { type JobRow, lockProject, type ProjectRow, type TaskRow } from './rows.ts';
import { isOver } from './statuses.ts';
import { staffingFaults, staffingOf } from './check-staffing.ts';

/**
 * Adds a job with its first tasks to a project, all or nothing. `payload` holds the fields of a job (L-12), `codename`,
 * `kind`, `status`, `tasks` (at least one) and `blocked_by` (codenames of jobs of the project): while one of those is
 * open, the job stays in planning and starts by itself afterwards (decision 33). A project in test goes back to dev.
 */
export async function addJob(
  tx: Tx,
  addition: { projectId: string; payload: unknown; actor: Actor; origin?: string },
): Promise<Result<{ job: JobRow; tasks: TaskRow[]; warnings: string[] }>> {
  const locked = await lockProject(tx, addition.projectId);
  if (!locked.ok) return locked;
  const project = locked.value;
  if (isOver(project.status)) {
    return refuse('wrong-state', 'project_over', `Project ${project.codename} is ${project.status}; reopen it first.`, {
      project: project.id,
      status: project.status,
    });
  }
  const faults: InputFault[] = [];
  const job = readJob(addition.payload, '', faults, ['tasks', 'blocked_by']);
  const given = isObject(addition.payload) ? addition.payload : {};
  const list = Array.isArray(given.tasks) ? given.tasks : [];
  if (list.length === 0 || list.length > maxTasksAtOnce) {
    faults.push({ path: 'tasks', code: 'no_tasks', message: `must be a list of 1 to ${maxTasksAtOnce} tasks` });
  }
  const tasks = readTasks(list, 'tasks', { ids: new Map(), blockers: new Map() }, faults);
  const blockers = await readBlockers(tx, project, given.blocked_by, faults);
  const references = [job, ...tasks].flatMap((part) => part.references);
  const resolved = await resolveReferences(tx.db, references, faults);
  if (job.codename && (await isTaken(tx, project.id, job.codename))) {
    faults.push({ path: 'codename', code: 'codename_taken', message: `${job.codename} is taken by another job` });
  }
  faults.push(...(await tasksStaffingFaults(tx, project, tasks, resolved)));
  if (faults.length > 0) return validationRefusal('job', faults);

  const { actor } = addition;
  const isBlocked = blockers.some((blocker) => !isOver(blocker.status));
  const status = isBlocked ? 'planning' : job.status;
  const row = await insertJob(tx, {
    project,
    job,
    resolved,
    actor,
    status,
    startsWhenUnblocked: isBlocked && job.status !== 'planning',
  });
  const cause = row.eventId;
  for (const blocker of blockers) await insertJobEdge(tx, { blocked: row, blocker, actor, cause });
  const inserted = await insertTasks(tx, { job: row, tasks, resolved, actor, cause, origin: addition.origin ?? 'api' });
  if (status === 'dev' || project.status === 'test') await startProject(tx, project.id, cause);
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${project.id}` }, 'job added');
  await voidDecisions(tx, { dedupeKey: `decomposition_stopped:${project.id}` }, 'job added');
  const { eventId: _eventId, ...stored } = row;
  return ok({ job: stored, tasks: inserted.rows, warnings: inserted.warnings });
}

/** Stores a job with the next number of its project, and its event. */
export async function insertJob(
  tx: Tx,
  insert: {
    project: ProjectRow;
    job: ReadJob;
    resolved: ReadonlyMap<string, Value>;
    actor: Actor;
    status: ReadJob['status'];
    cause?: string;
    startsWhenUnblocked?: boolean;
  },
): Promise<JobRow & { eventId: string }> {
  const { project, job, resolved, status } = insert;
  const { next } = await tx.db
    .updateTable('project')
    .set((eb) => ({ next_job_seq: eb('next_job_seq', '+', 1) }))
    .where('id', '=', project.id)
    .returning('next_job_seq as next')
    .executeTakeFirstOrThrow();
  const given: Record<string, Value> = { ...job.values };
  for (const reference of job.references) given[reference.column] = resolved.get(reference.path) ?? null;
  const row = {
    ...blankJob,
    priority: project.priority,
    ...(given as Partial<JobRow>),
    id: newId<string>(),
    project_id: project.id,
    seq: next - 1,
    codename: job.codename,
    kind: job.kind,
    status,
    starts_when_unblocked: insert.startsWhenUnblocked ? 1 : 0,
    started_at: status === 'planning' ? null : tx.now,
    created_at: tx.now,
    updated_at: tx.now,
  } as JobRow;
  await tx.db.insertInto('job').values(row).execute();
  const eventId = await tx.emit({
    kind: 'job.added',
    actor: insert.actor,
    subject: { kind: 'job', id: row.id },
    projectId: project.id,
    ...(insert.cause ? { cause: insert.cause } : {}),
    facts: { status, kind: row.kind, seq: row.seq },
  });
  return { ...row, eventId };
}

/** What the scopes of new tasks ask of a project's staffing (L-33g, decision 16). */
export async function tasksStaffingFaults(
  tx: Tx,
  project: ProjectRow,
  tasks: readonly { values: Record<string, Value>; references: readonly { column: string; path: string }[] }[],
  resolved: ReadonlyMap<string, Value>,
): Promise<InputFault[]> {
  const valueOf = (task: (typeof tasks)[number], column: string): string | undefined => {
    const reference = task.references.find((one) => one.column === column);
    return reference ? (resolved.get(reference.path) as string | undefined) : undefined;
  };
  const taskScopes = tasks.flatMap((task) => valueOf(task, 'scope') ?? []);
  if (taskScopes.length === 0) return [];
  const { agents } = await staffingOf(tx.db, project.id);
  for (const task of tasks) {
    const assignee = valueOf(task, 'assignee_id');
    if (assignee) agents.add(assignee);
  }
  return staffingFaults(tx.db, { projectScope: null, taskScopes, clientId: project.client_id, agents });
}

async function readBlockers(tx: Tx, project: ProjectRow, value: unknown, faults: InputFault[]): Promise<JobRow[]> {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    faults.push({ path: 'blocked_by', code: 'wrong_type', message: 'must be a list of codenames of jobs' });
    return [];
  }
  if (value.length === 0) return [];
  const names = [...new Set(value)];
  const jobs = await tx.db
    .selectFrom('job')
    .selectAll()
    .where('project_id', '=', project.id)
    .where((eb) => eb.or([eb('codename', 'in', names), eb('id', 'in', names)]))
    .execute();
  for (const name of names) {
    if (jobs.some((job) => job.codename === name || job.id === name)) continue;
    faults.push({ path: 'blocked_by', code: 'unknown_job', message: `${name.slice(0, 80)} is no job of this project` });
  }
  return jobs;
}

async function isTaken(tx: Tx, projectId: string, codename: string): Promise<boolean> {
  const job = await tx.db
    .selectFrom('job')
    .select('id')
    .where('project_id', '=', projectId)
    .where('codename', '=', codename)
    .executeTakeFirst();
  return job !== undefined;
}

const blankJob = {
  status_before_pause: null,
  agent_id: null,
  agent_prompt: null,
  zone: null,
  exit_criteria: null,
  current_phase: null,
  current_task: null,
  next_action: null,
  blockers: null,
  context_json: '{}',
  decisions_json: '[]',
  findings_json: '[]',
  steering_json: '{}',
  contract_model: null,
  mode_auto: 0,
  repo_paths: '[]',
  resolves_job_id: null,
  open_blockers: 0,
  next_task_seq: 1,
  version: 1,
  ended_at: null,
} as const;
