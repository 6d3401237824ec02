import { type Actor, type Json, newId, ok, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { insertJob } from './add-job.ts';
import { staffingFaults } from './check-staffing.ts';
import { insertTasks, taskRow } from './insert-tasks.ts';
import type { InputFault, Value } from './read-fields.ts';
import { type ReadPart, readSkeleton, type Skeleton } from './read-skeleton.ts';
import { resolveReferences, validationRefusal } from './resolve-references.ts';
import type { ProjectRow } from './rows.ts';

/** What an atomic creation gives back (L-37); the seed's names stand beside ours. Ids are null after a dry run. */
export interface CreatedProject {
  [key: string]: Json;
  dry_run: boolean;
  project_id: string | null;
  job_id: string | null;
  /** The first task. */
  task_id: string | null;
  task_ids: string[];
  id_chantier: string | null;
  id_travail: string | null;
  id_tache: string | null;
  id_taches: string[];
  codenames: { project: string; job: string; tasks: string[] };
  warnings: string[];
}

/**
 * Creates a project with its first job and tasks, all or nothing: the one way to create a project (L-31). `payload` is
 * the JSON of L-32. Refuses with one `validation_failed` that lists everything that is wrong (L-33). `dryRun` checks
 * everything and stores nothing (L-38).
 */
export async function createProject(
  tx: Tx,
  creation: { payload: unknown; actor: Actor; origin?: string; dryRun?: boolean },
): Promise<Result<CreatedProject>> {
  const faults: InputFault[] = [];
  const skeleton = readSkeleton(creation.payload, faults);
  const resolved = await checkAgainstStore(tx, skeleton, faults);
  if (faults.length > 0) return validationRefusal('project', faults);
  if (creation.dryRun) return ok(dryRun(skeleton, resolved, tx.now));

  const project = projectRow(skeleton, resolved, { origin: creation.origin ?? 'api', now: tx.now });
  const inserted = await tx.db
    .insertInto('project')
    .values(project)
    .onConflict((conflict) => conflict.column('codename').doNothing())
    .returning('id')
    .executeTakeFirst();
  // The unique index decides a race; the check before only gives the nicer list (decision 3).
  if (!inserted) return validationRefusal('project', [takenFault(skeleton.codename)]);
  const { actor } = creation;
  const cause = await tx.emit({
    kind: 'project.created',
    actor,
    subject: { kind: 'project', id: project.id },
    projectId: project.id,
    facts: { status: project.status, tasks: skeleton.tasks.length, origin: project.origin },
  });
  const job = await insertJob(tx, { project, job: skeleton.job, resolved, actor, cause, status: skeleton.job.status });
  const { rows, warnings } = await insertTasks(tx, {
    job,
    tasks: skeleton.tasks,
    resolved,
    actor,
    cause,
    origin: project.origin,
  });
  return ok(
    created({
      dryRun: false,
      projectId: project.id,
      jobId: job.id,
      taskIds: rows.map((row) => row.id),
      codenames: { project: project.codename, job: job.codename, tasks: rows.map((row) => row.codename) },
      warnings,
    }),
  );
}

/** Everything that needs the database: the codename, agents, scopes, client, staffing. */
async function checkAgainstStore(tx: Tx, skeleton: Skeleton, faults: InputFault[]): Promise<Map<string, Value>> {
  const parts: ReadPart[] = [skeleton.project, skeleton.job, ...skeleton.tasks];
  const resolved = await resolveReferences(
    tx.db,
    parts.flatMap((part) => part.references),
    faults,
  );
  if (skeleton.codename) {
    const taken = await tx.db
      .selectFrom('project')
      .select('id')
      .where('codename', '=', skeleton.codename)
      .executeTakeFirst();
    if (taken) faults.push(takenFault(skeleton.codename));
  }
  const given = valuesOf(skeleton.project, resolved);
  const tasks = skeleton.tasks.map((task) => valuesOf(task, resolved));
  const namesOfUnknown = skeleton.tasks.flatMap((task) =>
    task.references
      .filter(({ column, path }) => column === 'assignee_id' && !resolved.has(path))
      .map(({ name }) => name),
  );
  const staffing = await staffingFaults(tx.db, {
    projectScope: (given.scope as string | null | undefined) ?? null,
    taskScopes: tasks.flatMap((task) => (task.scope ? [task.scope as string] : [])),
    clientId: (given.client_id as string | null | undefined) ?? null,
    agents: new Set([
      ...tasks.flatMap((task) => (task.assignee_id ? [task.assignee_id as string] : [])),
      ...namesOfUnknown,
    ]),
  });
  // A client that was named but not found is reported once.
  const hasUnknownClient = faults.some((fault) => fault.code === 'unknown_client');
  faults.push(...staffing.filter((fault) => !(hasUnknownClient && fault.code === 'client_required')));
  return resolved;
}

/** The values of a part with its references filled in. */
export function valuesOf(part: ReadPart, resolved: ReadonlyMap<string, Value>): Record<string, Value> {
  const values = { ...part.values };
  for (const reference of part.references) values[reference.column] = resolved.get(reference.path) ?? null;
  return values;
}

function takenFault(codename: string): InputFault {
  return { path: 'codename', code: 'codename_taken', message: `${codename} is taken by another project` };
}

/** Discovery first: the project is being planned; else it is at work at once. */
function projectRow(
  skeleton: Skeleton,
  resolved: ReadonlyMap<string, Value>,
  made: { origin: string; now: number },
): ProjectRow {
  return {
    ...blankProject,
    ...(valuesOf(skeleton.project, resolved) as Partial<ProjectRow>),
    id: newId(),
    codename: skeleton.codename,
    status: skeleton.job.status === 'dev' ? 'dev' : 'planning',
    origin: made.origin,
    created_at: made.now,
    updated_at: made.now,
  } as ProjectRow;
}

const blankProject = {
  status_before_pause: null,
  priority: 'P2',
  scope: null,
  client_id: null,
  mission_brief: null,
  preprod_test_plan: null,
  ship_command: null,
  current_focus: null,
  notes: null,
  auto_decompose: 1,
  mode_auto: 0,
  max_cost_micros: null,
  spent_cost_micros: 0,
  next_job_seq: 1,
  version: 1,
  done_at: null,
  done_by: null,
  shipped_at: null,
} as const;

/** What would be created: nothing is stored, nothing is proposed. */
function dryRun(skeleton: Skeleton, resolved: ReadonlyMap<string, Value>, now: number): CreatedProject {
  const job = {
    id: '',
    project_id: '',
    codename: skeleton.job.codename,
    priority: skeleton.job.values.priority ?? 'P2',
  };
  const rows = skeleton.tasks.map((task, index) =>
    taskRow(task, { job: job as Parameters<typeof taskRow>[1]['job'], resolved, origin: 'dry-run' }, index + 1, now),
  );
  const warnings = rows.flatMap((row, index) =>
    row.estimate_source === 'estimator'
      ? [`${skeleton.tasks[index]?.path} has no token estimate; ${row.tokens_estimated} was estimated`]
      : [],
  );
  const report = created({
    dryRun: true,
    projectId: null,
    jobId: null,
    taskIds: [],
    codenames: { project: skeleton.codename, job: job.codename, tasks: rows.map((row) => row.codename) },
    warnings,
  });
  const plan: Json = {
    project: { codename: skeleton.codename, ...skeleton.project.values },
    job: { codename: job.codename, kind: skeleton.job.kind, status: skeleton.job.status, ...skeleton.job.values },
    tasks: rows.map((row) => ({
      codename: row.codename,
      title: row.title,
      priority: row.priority,
      tokens_estimated: row.tokens_estimated,
      model_recommended: row.model_recommended,
    })),
  };
  return { ...report, plan };
}

function created(parts: {
  dryRun: boolean;
  projectId: string | null;
  jobId: string | null;
  taskIds: string[];
  codenames: CreatedProject['codenames'];
  warnings: string[];
}): CreatedProject {
  const first = parts.taskIds[0] ?? null;
  return {
    dry_run: parts.dryRun,
    project_id: parts.projectId,
    job_id: parts.jobId,
    task_id: first,
    task_ids: parts.taskIds,
    id_chantier: parts.projectId,
    id_travail: parts.jobId,
    id_tache: first,
    id_taches: parts.taskIds,
    codenames: parts.codenames,
    warnings: parts.warnings,
  };
}
