import { type Actor, type Json, mayMove, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import type { EventKind, Tx } from '../store/index.ts';
import type { JobRow, ProjectRow, TaskRow } from './rows.ts';
import {
  isOver,
  jobMoves,
  jobReopenings,
  type JobStatus,
  projectMoves,
  projectReopenings,
  type ProjectStatus,
  taskMoves,
  taskReopenings,
  type TaskStatus,
} from './statuses.ts';

/** Topic woken with a task's id when it, or whether it may start, changed; the dispatcher listens. */
export const tasksTopic = 'tasks';

/** Topic woken with a job's id when its tasks are over and its validation team has to look at it. */
export const qaTopic = 'qa';

/** One change of a status: where to, why, and who says so. */
export interface Move<S, R> {
  to: S;
  event: EventKind;
  actor: Actor;
  /** Id of the event that led to this one. */
  cause?: string;
  sessionId?: string;
  facts?: Record<string, Json>;
  /** Other columns that change with it. */
  set?: Partial<R>;
  /** Takes the reopening instead of a move of the table. */
  reopens?: true;
}

export interface Moved<R> {
  row: R;
  eventId: string;
}

/** Moves a task out of the status in `row`; with `startIfReady` the only place that writes `task.status`. Refuses with `wrong-state`. */
export async function moveTask(tx: Tx, row: TaskRow, move: Move<TaskStatus, TaskRow>): Promise<Result<Moved<TaskRow>>> {
  const allowed = move.reopens ? taskReopenings[row.status] === move.to : mayMove(taskMoves, row.status, move.to);
  if (!allowed) return wrongState('task', row, move.to);
  const moved = await tx.db
    .updateTable('task')
    .set((eb) => ({
      ...move.set,
      status: move.to,
      version: eb('version', '+', 1),
      started_at: move.to === 'doing' ? (row.started_at ?? tx.now) : row.started_at,
      ended_at: isOver(move.to) ? tx.now : null,
      updated_at: tx.now,
    }))
    .where('id', '=', row.id)
    .where('status', '=', row.status)
    .returningAll()
    .executeTakeFirst();
  if (!moved) return wrongState('task', row, move.to);
  const eventId = await emitMove(tx, 'task', { id: row.id, projectId: row.project_id, from: row.status }, move);
  tx.wake(tasksTopic, row.id);
  return ok({ row: moved, eventId });
}

/** Makes a task doing if it is ready (the guard stands inside the write); `undefined` when it was not. The caller reports it. */
export async function startIfReady(tx: Tx, taskId: string): Promise<TaskRow | undefined> {
  return tx.db
    .updateTable('task')
    .set((eb) => ({
      status: 'doing',
      version: eb('version', '+', 1),
      started_at: eb.fn.coalesce('started_at', eb.val(tx.now)),
      updated_at: tx.now,
    }))
    .where('id', '=', taskId)
    .where('status', '=', 'todo')
    .where('open_blockers', '=', 0)
    .where('held', '=', 0)
    .returningAll()
    .executeTakeFirst();
}

/** Moves a job out of the status in `row`; the only place that writes `job.status`. Refuses with `wrong-state`. */
export async function moveJob(tx: Tx, row: JobRow, move: Move<JobStatus, JobRow>): Promise<Result<Moved<JobRow>>> {
  const allowed = move.reopens ? jobReopenings[row.status] === move.to : mayMove(jobMoves, row.status, move.to);
  if (!allowed) return wrongState('job', row, move.to);
  const starts = move.to === 'dev' || move.to === 'discovery';
  const moved = await tx.db
    .updateTable('job')
    .set((eb) => ({
      ...move.set,
      status: move.to,
      status_before_pause: move.to === 'paused' ? (row.status as JobRow['status_before_pause']) : null,
      version: eb('version', '+', 1),
      started_at: starts ? (row.started_at ?? tx.now) : row.started_at,
      ended_at: isOver(move.to) ? tx.now : null,
      updated_at: tx.now,
    }))
    .where('id', '=', row.id)
    .where('status', '=', row.status)
    .returningAll()
    .executeTakeFirst();
  if (!moved) return wrongState('job', row, move.to);
  const eventId = await emitMove(tx, 'job', { id: row.id, projectId: row.project_id, from: row.status }, move);
  tx.wake(tasksTopic, row.id);
  return ok({ row: moved, eventId });
}

/** Moves a project out of the status in `row`; the only place that writes `project.status`. Refuses with `wrong-state`. */
export async function moveProject(
  tx: Tx,
  row: ProjectRow,
  move: Move<ProjectStatus, ProjectRow>,
): Promise<Result<Moved<ProjectRow>>> {
  const allowed = move.reopens ? projectReopenings[row.status] === move.to : mayMove(projectMoves, row.status, move.to);
  if (!allowed) return wrongState('project', row, move.to);
  const moved = await tx.db
    .updateTable('project')
    .set((eb) => ({
      ...move.set,
      status: move.to,
      status_before_pause: move.to === 'paused' ? (row.status as ProjectRow['status_before_pause']) : null,
      version: eb('version', '+', 1),
      done_at: move.to === 'done' ? tx.now : null,
      updated_at: tx.now,
    }))
    .where('id', '=', row.id)
    .where('status', '=', row.status)
    .returningAll()
    .executeTakeFirst();
  if (!moved) return wrongState('project', row, move.to);
  const eventId = await emitMove(tx, 'project', { id: row.id, projectId: row.id, from: row.status }, move);
  tx.wake(tasksTopic, row.id);
  return ok({ row: moved, eventId });
}

function emitMove(
  tx: Tx,
  kind: string,
  subject: { id: string; projectId: string; from: string },
  move: Pick<Move<string, unknown>, 'to' | 'event' | 'actor' | 'cause' | 'sessionId' | 'facts'>,
): Promise<string> {
  return tx.emit({
    kind: move.event,
    actor: move.actor,
    subject: { kind, id: subject.id },
    projectId: subject.projectId,
    ...(move.cause ? { cause: move.cause } : {}),
    ...(move.sessionId ? { sessionId: move.sessionId } : {}),
    facts: { ...move.facts, from: subject.from, to: move.to },
  });
}

/** The refusal of a move that the item's status does not allow. */
export function wrongState(
  kind: 'project' | 'job' | 'task',
  row: { id: string; codename: string; status: string },
  to: string,
): Refused {
  return refuse(
    'wrong-state',
    `${kind}_wrong_state`,
    `The ${kind} ${row.codename} is ${row.status}, so it cannot become ${to}.${next(row.status)}`,
    { [kind]: row.id, status: row.status, wanted: to },
  );
}

function next(status: string): string {
  if (isOver(status as TaskStatus)) return ' Reopen it with a reason first.';
  return status === 'paused' ? ' Resume it first.' : '';
}
