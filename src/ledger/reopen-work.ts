import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { moveJob, moveProject, moveTask } from './move-status.ts';
import { type JobRow, lockJob, lockProject, lockTask, type ProjectRow, type TaskRow } from './rows.ts';
import { isOver } from './statuses.ts';
import { keepReason, reasonRefusal } from './texts.ts';

/** A reopening always says why; whether the human has proof is asked at the edge (design section 4). */
export interface Reopening {
  actor: Actor;
  reason: string;
  cause?: string;
}

/**
 * Opens a finished or cancelled task again (a revert, a human's wish) and, where they had moved on, its job and project.
 * Tasks that are already being worked on and had waited for it are not interrupted; they are named in `warnings`
 * (decision 36).
 */
export async function reopenTask(
  tx: Tx,
  reopening: Reopening & { taskId: string },
): Promise<Result<{ task: TaskRow; warnings: string[] }>> {
  const refusal = reasonRefusal(reopening.reason, 'reopen');
  if (refusal) return refusal;
  const locked = await lockTask(tx, reopening.taskId);
  if (!locked.ok) return locked;
  const { task, job, project } = locked.value;
  if (!isOver(task.status)) {
    return refuse(
      'wrong-state',
      'task_not_over',
      `Task ${task.codename} is ${task.status}: there is nothing to reopen.`,
      {
        task: task.id,
        status: task.status,
      },
    );
  }
  const above = await reopenAbove(tx, job, project, reopening);
  if (!above.ok) return above;
  const moved = await moveTask(tx, task, {
    to: 'todo',
    event: 'task.reopened',
    ...by(reopening),
    reopens: true,
    set: { attempts: 0 },
  });
  if (!moved.ok) return moved;
  await keepReason(
    tx,
    { kind: 'task', id: task.id, projectId: task.project_id },
    'reopen',
    reopening.reason,
    reopening.actor,
  );
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${job.id}` }, 'task reopened');
  const dependents = await tx.db
    .selectFrom('task_dependency')
    .innerJoin('task', 'task.id', 'task_dependency.blocked_task_id')
    .select('task.codename')
    .where('blocker_task_id', '=', task.id)
    .where('task.status', '=', 'doing')
    .orderBy('task.seq')
    .execute();
  const warnings = dependents.map(
    ({ codename }) => `${codename} had waited for ${task.codename} and is being worked on; it is not interrupted`,
  );
  return ok({ task: moved.value.row, warnings });
}

/** Opens a finished or cancelled job again, and its project where that had moved on. Its tasks stay as they are. */
export async function reopenJob(tx: Tx, reopening: Reopening & { jobId: string }): Promise<Result<JobRow>> {
  const refusal = reasonRefusal(reopening.reason, 'reopen');
  if (refusal) return refusal;
  const locked = await lockJob(tx, reopening.jobId);
  if (!locked.ok) return locked;
  const { job, project } = locked.value;
  if (!isOver(job.status)) {
    return refuse('wrong-state', 'job_not_over', `Job ${job.codename} is ${job.status}: there is nothing to reopen.`, {
      job: job.id,
      status: job.status,
    });
  }
  const above = await reopenAbove(tx, job, project, reopening);
  if (!above.ok) return above;
  return ok(await tx.db.selectFrom('job').selectAll().where('id', '=', job.id).executeTakeFirstOrThrow());
}

/** Opens a finished or cancelled project again; it goes to dev. */
export async function reopenProject(tx: Tx, reopening: Reopening & { projectId: string }): Promise<Result<ProjectRow>> {
  const refusal = reasonRefusal(reopening.reason, 'reopen');
  if (refusal) return refusal;
  const project = await lockProject(tx, reopening.projectId);
  if (!project.ok) return project;
  return reopenOneProject(tx, project.value, reopening);
}

async function reopenAbove(tx: Tx, job: JobRow, project: ProjectRow, reopening: Reopening): Promise<Result<undefined>> {
  if (isOver(project.status)) {
    const reopened = await reopenOneProject(tx, project, reopening);
    if (!reopened.ok) return reopened;
  } else if (project.status === 'test') {
    const returned = await moveProject(tx, project, { to: 'dev', event: 'project.returned', ...by(reopening) });
    if (!returned.ok) return returned;
  }
  if (isOver(job.status)) {
    if (job.open_blockers > 0) {
      return refuse('wrong-state', 'job_blocked', `Job ${job.codename} waits for another job; reopen it after that.`, {
        job: job.id,
      });
    }
    const moved = await moveJob(tx, job, { to: 'dev', event: 'job.reopened', ...by(reopening), reopens: true });
    if (!moved.ok) return moved;
    const subject = { kind: 'job' as const, id: job.id, projectId: job.project_id };
    await keepReason(tx, subject, 'reopen', reopening.reason, reopening.actor);
  } else if (job.status === 'review') {
    const moved = await moveJob(tx, job, { to: 'dev', event: 'job.returned', ...by(reopening) });
    if (!moved.ok) return moved;
    await voidDecisions(tx, { dedupeKey: `human_review:${job.id}` }, 'job reopened');
  }
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${project.id}` }, 'work reopened');
  return ok();
}

async function reopenOneProject(tx: Tx, project: ProjectRow, reopening: Reopening): Promise<Result<ProjectRow>> {
  const moved = await moveProject(tx, project, {
    to: 'dev',
    event: 'project.reopened',
    ...by(reopening),
    reopens: true,
  });
  if (!moved.ok) return moved;
  const subject = { kind: 'project' as const, id: project.id, projectId: project.id };
  await keepReason(tx, subject, 'reopen', reopening.reason, reopening.actor);
  return ok(moved.value.row);
}

function by(reopening: Reopening): { actor: Actor; cause?: string } {
  return { actor: reopening.actor, ...(reopening.cause ? { cause: reopening.cause } : {}) };
}
