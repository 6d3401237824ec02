import { type Actor, ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import { hasExpired, type Tx, voidDecisions } from '../store/index.ts';
import { maxAttempts } from './attempts.ts';
import { settleJob, settleProject, startProject } from './cascade.ts';
import { claimOf, endClaim, openDelivery } from './claims.ts';
import { moveJob, moveProject, moveTask } from './move-status.ts';
import { type JobRow, lockJob, lockProject, lockTask, type ProjectRow, type TaskRow } from './rows.ts';
import { keepReason } from './texts.ts';

/** A human's wish about an item; the reason is kept aside, never in an event. */
export interface Wish {
  actor: Actor;
  reason?: string;
  cause?: string;
}

/**
 * Pauses a task that is to do or being worked on. `keepClaim` leaves the claim with its session (which is paused too);
 * otherwise the claim ends. Refuses for a task that waits for its pull request.
 */
export async function pauseTask(
  tx: Tx,
  wish: Wish & { taskId: string; keepClaim?: boolean },
): Promise<Result<TaskRow>> {
  const locked = await lockTask(tx, wish.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const delivery = await openDelivery(tx.db, task.id);
  if (delivery) {
    return refuse(
      'wrong-state',
      'task_delivered',
      `Task ${task.codename} waits for pull request ${delivery.pull_request_id}; pause its job, or end the pull request.`,
      { task: task.id, pull_request: delivery.pull_request_id },
    );
  }
  const moved = await moveTask(tx, task, { to: 'paused', event: 'task.paused', ...by(wish) });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'task', id: task.id, projectId: task.project_id }, 'pause', wish.reason, wish.actor);
  if (!wish.keepClaim) await endClaim(tx, task.id, 'paused', wish.actor);
  await settleJob(tx, task.job_id, moved.value.eventId);
  return ok(moved.value.row);
}

/**
 * Lets a paused task go on: doing where its claim still lives, else todo. After too many failed tries the count starts
 * anew and the question about it is withdrawn (README 2.9).
 */
export async function resumeTask(tx: Tx, wish: Wish & { taskId: string }): Promise<Result<TaskRow>> {
  const locked = await lockTask(tx, wish.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  // One that waits for its pull request has no claim either: it would be given out a second time.
  if (task.status !== 'paused') return notPaused('task', task);
  const lease = await claimOf(tx, task.id);
  const goesOn = lease !== undefined && !hasExpired(lease, tx.now);
  if (goesOn && (task.open_blockers > 0 || task.held === 1)) {
    return refuse(
      'wrong-state',
      task.held === 1 ? 'task_held' : 'task_blocked',
      `Task ${task.codename} cannot go on: ${task.held === 1 ? 'its job or project is not at work' : 'it waits for another task'}.`,
      { task: task.id },
    );
  }
  const isExhausted = task.attempts >= maxAttempts;
  const moved = await moveTask(tx, task, {
    to: goesOn ? 'doing' : 'todo',
    event: isExhausted ? 'task.attempts-reset' : 'task.resumed',
    ...by(wish),
    ...(isExhausted ? { set: { attempts: 0 } } : {}),
  });
  if (!moved.ok) return moved;
  if (lease && !goesOn) await endClaim(tx, task.id, 'expired', wish.actor);
  if (isExhausted) await voidDecisions(tx, { dedupeKey: `attempts_exhausted:${task.id}` }, 'task resumed');
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${task.id}` }, 'task resumed');
  await settleJob(tx, task.job_id, moved.value.eventId);
  return ok(moved.value.row);
}

/** Pauses a job: none of its tasks starts; what runs is not interrupted by the ledger. */
export async function pauseJob(tx: Tx, wish: Wish & { jobId: string }): Promise<Result<JobRow>> {
  const locked = await lockJob(tx, wish.jobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  const moved = await moveJob(tx, job, { to: 'paused', event: 'job.paused', ...by(wish) });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'job', id: job.id, projectId: job.project_id }, 'pause', wish.reason, wish.actor);
  return ok(moved.value.row);
}

/** Takes a paused job back to where it was, then to where its tasks say it is (decision 10). */
export async function resumeJob(tx: Tx, wish: Wish & { jobId: string }): Promise<Result<JobRow>> {
  const locked = await lockJob(tx, wish.jobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  if (job.status !== 'paused') return notPaused('job', job);
  const to = job.status_before_pause ?? 'dev';
  if (to === 'dev' && job.open_blockers > 0) return jobBlocked(job);
  const moved = await moveJob(tx, job, { to, event: 'job.resumed', ...by(wish) });
  if (!moved.ok) return moved;
  if (to === 'dev') await startProject(tx, job.project_id, moved.value.eventId);
  await settleJob(tx, job.id, moved.value.eventId);
  return ok(await readJob(tx, job.id));
}

/** A human starts a job that is being planned. Refuses while another job must end first. */
export async function startJob(tx: Tx, wish: Wish & { jobId: string }): Promise<Result<JobRow>> {
  const locked = await lockJob(tx, wish.jobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  if (job.open_blockers > 0) return jobBlocked(job);
  const moved = await moveJob(tx, job, {
    to: 'dev',
    event: 'job.started',
    ...by(wish),
    set: { starts_when_unblocked: 0 },
  });
  if (!moved.ok) return moved;
  await startProject(tx, job.project_id, moved.value.eventId);
  return ok(moved.value.row);
}

/** Pauses a project: none of its tasks starts. */
export async function pauseProject(tx: Tx, wish: Wish & { projectId: string }): Promise<Result<ProjectRow>> {
  const project = await lockProject(tx, wish.projectId);
  if (!project.ok) return project;
  const moved = await moveProject(tx, project.value, { to: 'paused', event: 'project.paused', ...by(wish) });
  if (!moved.ok) return moved;
  const { id } = project.value;
  await keepReason(tx, { kind: 'project', id, projectId: id }, 'pause', wish.reason, wish.actor);
  return ok(moved.value.row);
}

/** Takes a paused project back to where it was, then to where its jobs say it is. */
export async function resumeProject(tx: Tx, wish: Wish & { projectId: string }): Promise<Result<ProjectRow>> {
  const locked = await lockProject(tx, wish.projectId);
  if (!locked.ok) return locked;
  const project = locked.value;
  if (project.status !== 'paused') return notPaused('project', project);
  const to = project.status_before_pause ?? 'dev';
  const moved = await moveProject(tx, project, { to, event: 'project.resumed', ...by(wish) });
  if (!moved.ok) return moved;
  await settleProject(tx, project.id, moved.value.eventId);
  const row = await tx.db.selectFrom('project').selectAll().where('id', '=', project.id).executeTakeFirstOrThrow();
  return ok(row);
}

/** Who moves it and why, as a move carries it. */
export function by(wish: Wish): { actor: Actor; cause?: string } {
  return { actor: wish.actor ?? systemActor('ledger'), ...(wish.cause ? { cause: wish.cause } : {}) };
}

function readJob(tx: Tx, jobId: string): Promise<JobRow> {
  return tx.db.selectFrom('job').selectAll().where('id', '=', jobId).executeTakeFirstOrThrow();
}

function notPaused(kind: 'task' | 'job' | 'project', row: TaskRow | JobRow | ProjectRow): Result<never> {
  return refuse('wrong-state', `${kind}_not_paused`, `The ${kind} ${row.codename} is ${row.status}, not paused.`, {
    [kind]: row.id,
    status: row.status,
  });
}

function jobBlocked(job: JobRow): Result<never> {
  return refuse(
    'wrong-state',
    'job_blocked',
    `Job ${job.codename} waits for ${job.open_blockers} other jobs; finish, cancel or unlink them first.`,
    { job: job.id, open_blockers: job.open_blockers },
  );
}
