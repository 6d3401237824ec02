import { type Actor, newId } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { depths } from './dependency-graph.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { attachNames } from './proposals.ts';
import type { Value } from './read-fields.ts';
import type { ReadTask } from './read-tasks.ts';
import { recommendModel } from './recommend-model.ts';
import type { JobRow, TaskRow } from './rows.ts';

/** Rows in one statement: far below the parameter limits of both databases. */
const rowsAtOnce = 200;

/**
 * Stores read and checked tasks in a job whose lock is held: rows, edges, skills and tools, one event for each task.
 * A missing estimate is made and named as a warning (L-34); the model follows from it unless given (L-35). `eventId` is the
 * last event, for what follows from the new tasks.
 */
export async function insertTasks(
  tx: Tx,
  insert: {
    job: JobRow;
    tasks: readonly ReadTask[];
    resolved: ReadonlyMap<string, Value>;
    actor: Actor;
    origin: string;
    cause?: string;
  },
): Promise<{ rows: TaskRow[]; warnings: string[]; eventId: string }> {
  const { job, tasks } = insert;
  const { next } = await tx.db
    .updateTable('job')
    .set((eb) => ({ next_task_seq: eb('next_task_seq', '+', tasks.length) }))
    .where('id', '=', job.id)
    .returning('next_task_seq as next')
    .executeTakeFirstOrThrow();
  const first = next - tasks.length;
  const rows = tasks.map((task, index) => taskRow(task, insert, first + index, tx.now));
  for (const chunk of chunks(rows)) await tx.db.insertInto('task').values(chunk).execute();
  await insertEdges(tx, insert);
  let eventId = '';
  for (const [index, row] of rows.entries()) {
    eventId = await tx.emit({
      kind: 'task.added',
      actor: insert.actor,
      subject: { kind: 'task', id: row.id },
      projectId: row.project_id,
      ...(insert.cause ? { cause: insert.cause } : {}),
      facts: { job: row.job_id, seq: row.seq, blocked_by: tasks[index]?.blockedBy ?? [] },
    });
  }
  const proposed = await attachNames(tx, tasks, job.project_id, insert.actor);
  return { rows, warnings: [...estimateWarnings(rows, tasks), ...proposed], eventId };
}

/** The row of a new task; `held` and `open_blockers` are the triggers' to set. */
export function taskRow(
  task: ReadTask,
  insert: { job: JobRow; resolved: ReadonlyMap<string, Value>; origin: string },
  seq: number,
  now: number,
): TaskRow {
  const { job, resolved } = insert;
  const given: Record<string, Value> = { ...task.values };
  for (const reference of task.references) given[reference.column] = resolved.get(reference.path) ?? null;
  const title = given.title as string;
  const description = (given.description as string | undefined) ?? '';
  const estimate =
    (given.tokens_estimated as number | null | undefined) ??
    estimateTokens({
      title,
      description,
      request: (given.request as string | null | undefined) ?? null,
      durationMinutes: (given.duration_min_estimated as number | null | undefined) ?? null,
      isVisual: Boolean(given.visual_url),
    });
  const priority = (given.priority as TaskRow['priority'] | undefined) ?? job.priority;
  const model = given.model_recommended as TaskRow['model_recommended'] | undefined;
  return {
    ...blankTask,
    ...(given as Partial<TaskRow>),
    id: task.id,
    job_id: job.id,
    project_id: job.project_id,
    seq,
    codename: `${job.codename}-t${seq}`,
    title,
    description,
    priority,
    position: (given.position as number | undefined) ?? seq,
    tokens_estimated: estimate,
    estimate_source: typeof given.tokens_estimated === 'number' ? 'caller' : 'estimator',
    model_recommended: model ?? recommendModel({ priority, tokensEstimated: estimate, attempts: 0 }),
    model_source: model ? 'explicit' : 'rule',
    origin: insert.origin,
    created_at: now,
    updated_at: now,
  };
}

const blankTask = {
  request: null,
  status: 'todo',
  scope: null,
  assignee_id: null,
  duration_min_estimated: null,
  model_used: null,
  last_test_result: null,
  attempts: 0,
  tokens_actual: 0,
  cost_actual_micros: 0,
  visual_intent: null,
  visual_url: null,
  corrective_of_qa_run: null,
  repository_id: null,
  base: null,
  open_blockers: 0,
  held: 0,
  version: 1,
  started_at: null,
  ended_at: null,
} as const;

/** The deepest tasks first: then what is above a blocker is not there yet, and the cycle guard has nothing to walk. */
async function insertEdges(tx: Tx, insert: { job: JobRow; tasks: readonly ReadTask[]; actor: Actor }): Promise<void> {
  const blockers = new Map(
    insert.tasks.filter((task) => task.blockedBy.length > 0).map((task) => [task.id, task.blockedBy]),
  );
  if (blockers.size === 0) return;
  const graph = depths(blockers);
  if ('cycle' in graph) throw new Error('edges with a cycle came past the check');
  const depthOf = (id: string): number => graph.depth.get(id) ?? 1;
  const edges = [...blockers]
    .toSorted(([a], [b]) => depthOf(b) - depthOf(a))
    .flatMap(([blocked, list]) =>
      list.map((blocker) => ({
        id: newId<string>(),
        job_id: insert.job.id,
        blocked_task_id: blocked,
        blocker_task_id: blocker,
        on_cancel: 'unblock' as const,
        created_by: insert.actor.id,
        created_at: tx.now,
      })),
    );
  for (const chunk of chunks(edges)) await tx.db.insertInto('task_dependency').values(chunk).execute();
}

function chunks<T>(items: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < items.length; at += rowsAtOnce) parts.push(items.slice(at, at + rowsAtOnce));
  return parts;
}

function estimateWarnings(rows: readonly TaskRow[], tasks: readonly ReadTask[]): string[] {
  const estimated = rows.flatMap((row, index) =>
    row.estimate_source === 'estimator' ? [{ row, path: tasks[index]?.path ?? row.codename }] : [],
  );
  if (estimated.length > 20) return [`${estimated.length} tasks had no token estimate; it was estimated`];
  return estimated.map(({ row, path }) => `${path} has no token estimate; ${row.tokens_estimated} was estimated`);
}
