import { ok, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { afterJobEnded, settleJob } from './cascade.ts';
import { endClaim, endDeliveryRow } from './claims.ts';
import { moveJob, moveProject, moveTask } from './move-status.ts';
import { by, type Wish } from './pause-work.ts';
import { type JobRow, lockJob, lockProject, lockTask, type ProjectRow, type TaskRow } from './rows.ts';
import { keepReason } from './texts.ts';

/**
 * Cancels a task. Its claim ends at once, so that a session that works on it can write nothing more; what it blocked is
 * free unless the edge says hold (L-29, decision 34).
 */
export async function cancelTask(tx: Tx, wish: Wish & { taskId: string }): Promise<Result<TaskRow>> {
  const locked = await lockTask(tx, wish.taskId);
  if (!locked.ok) return locked;
  const cancelled = await cancelOne(tx, locked.value.task, wish);
  if (!cancelled.ok) return cancelled;
  await settleJob(tx, cancelled.value.row.job_id, cancelled.value.eventId);
  return ok(cancelled.value.row);
}

/** Cancels a job with every task that is not over, then looks at its project. */
export async function cancelJob(tx: Tx, wish: Wish & { jobId: string }): Promise<Result<JobRow>> {
  const locked = await lockJob(tx, wish.jobId);
  if (!locked.ok) return locked;
  const cancelled = await cancelOneJob(tx, locked.value.job, wish);
  if (!cancelled.ok) return cancelled;
  await afterJobEnded(tx, cancelled.value.row, cancelled.value.eventId);
  return ok(cancelled.value.row);
}

/** Cancels a project with every job and task that is not over. */
export async function cancelProject(tx: Tx, wish: Wish & { projectId: string }): Promise<Result<ProjectRow>> {
  const locked = await lockProject(tx, wish.projectId);
  if (!locked.ok) return locked;
  const project = locked.value;
  const moved = await moveProject(tx, project, { to: 'cancelled', event: 'project.cancelled', ...by(wish) });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'project', id: project.id, projectId: project.id }, 'cancel', wish.reason, wish.actor);
  const jobs = await tx.db
    .selectFrom('job')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('status', 'not in', ['done', 'cancelled'])
    .orderBy('seq')
    .execute();
  const because = { actor: wish.actor, cause: moved.value.eventId };
  for (const job of jobs) {
    const cancelled = await cancelOneJob(tx, job, because);
    if (!cancelled.ok) return cancelled;
    await voidDecisions(tx, { subjectId: job.id }, 'project cancelled');
  }
  await voidDecisions(tx, { subjectId: project.id }, 'project cancelled');
  return ok(moved.value.row);
}

async function cancelOneJob(tx: Tx, job: JobRow, wish: Wish): Promise<Result<{ row: JobRow; eventId: string }>> {
  const moved = await moveJob(tx, job, { to: 'cancelled', event: 'job.cancelled', ...by(wish) });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'job', id: job.id, projectId: job.project_id }, 'cancel', wish.reason, wish.actor);
  const tasks = await tx.db
    .selectFrom('task')
    .selectAll()
    .where('job_id', '=', job.id)
    .where('status', 'not in', ['done', 'cancelled'])
    .orderBy('seq')
    .execute();
  const because = { actor: wish.actor, cause: moved.value.eventId };
  for (const task of tasks) {
    const cancelled = await cancelOne(tx, task, because);
    if (!cancelled.ok) return cancelled;
  }
  return moved;
}

async function cancelOne(tx: Tx, task: TaskRow, wish: Wish): Promise<Result<{ row: TaskRow; eventId: string }>> {
  const moved = await moveTask(tx, task, { to: 'cancelled', event: 'task.cancelled', ...by(wish) });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'task', id: task.id, projectId: task.project_id }, 'cancel', wish.reason, wish.actor);
  await endClaim(tx, task.id, 'cancelled', wish.actor);
  await endDeliveryRow(tx, task.id, 'cancelled');
  await voidDecisions(tx, { dedupeKey: `attempts_exhausted:${task.id}` }, 'task cancelled');
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${task.id}` }, 'task cancelled');
  return moved;
}
