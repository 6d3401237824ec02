import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import type { EventKind, Tx } from '../store/index.ts';
import { staffingFaults, staffingOf } from './check-staffing.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { type FieldSet, jobFields, projectFields, taskFields } from './fields.ts';
import { tasksTopic } from './move-status.ts';
import { type InputFault, isObject, readFields, type Value } from './read-fields.ts';
import { recommendModel } from './recommend-model.ts';
import { resolveReferences, validationRefusal } from './resolve-references.ts';
import { type JobRow, lockJob, lockProject, lockTask, type ProjectRow, type TaskRow } from './rows.ts';
import { keepEarlierText } from './texts.ts';

/** A change of fields: `changes` by the names of `projectFields` and so on; `version` is the one that the caller saw. */
export interface Update {
  version: number;
  changes: unknown;
  actor: Actor;
}

/**
 * Changes fields of a project. Refuses with `stale_version` when somebody changed it since `version`, so that no edit is
 * lost in silence; earlier texts are kept. A scope set later asks for its client and agents too (decision 16).
 */
export async function updateProject(tx: Tx, update: Update & { projectId: string }): Promise<Result<ProjectRow>> {
  const locked = await lockProject(tx, update.projectId);
  if (!locked.ok) return locked;
  const project = locked.value;
  const read = await readChanges(tx, update.changes, projectFields);
  const { faults, values } = read;
  if (faults.length === 0 && (values.scope !== undefined || values.client_id !== undefined)) {
    const { agents, taskScopes } = await staffingOf(tx.db, project.id);
    const after = { ...project, ...(values as Partial<ProjectRow>) };
    faults.push(
      ...(await staffingFaults(tx.db, { projectScope: after.scope, taskScopes, clientId: after.client_id, agents })),
    );
  }
  if (faults.length > 0) return validationRefusal('project', faults);
  const row = await writeChanges(tx, 'project', project, project.id, values, update);
  return row.ok ? ok(row.value as ProjectRow) : row;
}

/** Changes fields of a job; see `updateProject`. */
export async function updateJob(tx: Tx, update: Update & { jobId: string }): Promise<Result<JobRow>> {
  const locked = await lockJob(tx, update.jobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  const { faults, values } = await readChanges(tx, update.changes, jobFields);
  if (faults.length > 0) return validationRefusal('job', faults);
  const row = await writeChanges(tx, 'job', job, job.project_id, values, update);
  return row.ok ? ok(row.value as JobRow) : row;
}

/**
 * Changes fields of a task; see `updateProject`. An estimate that was made by the estimator, and a model that follows
 * from the rule, are made anew; explicit ones are never overwritten (decision 20).
 */
export async function updateTask(tx: Tx, update: Update & { taskId: string }): Promise<Result<TaskRow>> {
  const locked = await lockTask(tx, update.taskId);
  if (!locked.ok) return locked;
  const { task, project } = locked.value;
  const { faults, values } = await readChanges(tx, update.changes, taskFields);
  if (faults.length === 0 && typeof values.scope === 'string') {
    const { agents } = await staffingOf(tx.db, project.id);
    if (typeof values.assignee_id === 'string') agents.add(values.assignee_id);
    const taskScopes = [values.scope];
    faults.push(
      ...(await staffingFaults(tx.db, { projectScope: null, taskScopes, clientId: project.client_id, agents })),
    );
  }
  if (faults.length > 0) return validationRefusal('task', faults);
  const row = await writeChanges(tx, 'task', task, project.id, { ...values, ...derived(task, values) }, update);
  return row.ok ? ok(row.value as TaskRow) : row;
}

/** Estimate and model as they follow from the changed row. */
function derived(task: TaskRow, values: Record<string, Value>): Record<string, Value> {
  const after = { ...task, ...(values as Partial<TaskRow>) };
  const set: Record<string, Value> = {};
  if (typeof values.tokens_estimated === 'number') {
    set.estimate_source = 'caller';
  } else if (values.tokens_estimated === null || task.estimate_source !== 'caller') {
    after.tokens_estimated = estimateTokens({
      title: after.title,
      description: after.description,
      request: after.request,
      durationMinutes: after.duration_min_estimated,
      isVisual: Boolean(after.visual_url),
    });
    set.tokens_estimated = after.tokens_estimated;
    set.estimate_source = 'estimator';
  }
  if (typeof values.model_recommended === 'string') {
    set.model_source = 'explicit';
  } else if (values.model_recommended === null || task.model_source !== 'explicit') {
    set.model_recommended = recommendModel({
      priority: after.priority,
      tokensEstimated: after.tokens_estimated,
      attempts: after.attempts,
    });
    set.model_source = 'rule';
  }
  return set;
}

async function readChanges(
  tx: Tx,
  changes: unknown,
  fields: FieldSet,
): Promise<{ faults: InputFault[]; values: Record<string, Value> }> {
  const faults: InputFault[] = [];
  if (!isObject(changes) || Object.keys(changes).length === 0) {
    faults.push({ path: 'changes', code: 'empty', message: 'must name at least one field' });
    return { faults, values: {} };
  }
  const read = readFields(changes, fields, '', faults);
  const resolved = await resolveReferences(tx.db, read.references, faults);
  for (const reference of read.references) read.values[reference.column] = resolved.get(reference.path) ?? null;
  return { faults, values: read.values };
}

type Table = 'project' | 'job' | 'task';

/** Writes what really changes, under the version that the caller saw; what stays the same is no event. */
async function writeChanges(
  tx: Tx,
  table: Table,
  row: ProjectRow | JobRow | TaskRow,
  projectId: string,
  values: Record<string, Value>,
  update: Update,
): Promise<Result<ProjectRow | JobRow | TaskRow>> {
  if (row.version !== update.version) {
    return refuse(
      'wrong-state',
      'stale_version',
      `The ${table} ${row.codename} was changed meanwhile: it is at version ${row.version}, you saw ${update.version}. Read it again, then change it.`,
      { [table]: row.id, version: row.version, seen: update.version },
    );
  }
  const before = row as unknown as Record<string, Value>;
  const changed = Object.keys(values).filter((column) => values[column] !== before[column]);
  if (changed.length === 0) return ok(row);
  const set = Object.fromEntries(changed.map((column) => [column, values[column] ?? null]));
  for (const column of changed) {
    if (typeof before[column] === 'string' && textColumns.has(column)) {
      await keepEarlierText(tx, { kind: table, id: row.id, projectId }, column, before[column], update.actor);
    }
  }
  const written = await tx.db
    .updateTable(table as 'task')
    .set((eb) => ({ ...(set as Partial<TaskRow>), version: eb('version', '+', 1), updated_at: tx.now }))
    .where('id', '=', row.id)
    .where('version', '=', update.version)
    .returningAll()
    .executeTakeFirst();
  if (!written) throw new Error(`${table} ${row.id} changed under its lock`);
  await tx.emit({
    kind: `${table}.updated` as EventKind,
    actor: update.actor,
    subject: { kind: table, id: row.id },
    projectId,
    facts: { fields: changed, version: update.version + 1 },
  });
  tx.wake(tasksTopic, row.id);
  return ok(written);
}

/** Columns whose earlier wording is kept. */
const textColumns: ReadonlySet<string> = new Set(
  [projectFields, jobFields, taskFields].flatMap((fields) =>
    Object.entries(fields).flatMap(([name, field]) =>
      field.kind === 'text' || field.kind === 'line' || field.kind === 'json' ? [field.column ?? name] : [],
    ),
  ),
);
