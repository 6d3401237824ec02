import { ok, refuse, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { afterJobEnded } from './cascade.ts';
import { moveJob, moveProject } from './move-status.ts';
import { by, type Wish } from './pause-work.ts';
import { type JobRow, lockJob, lockProject, type ProjectRow } from './rows.ts';
import { keepReason, reasonRefusal } from './texts.ts';

/**
 * Marks a project done: only from test, only by an operator, with a reason (what was shipped, or why nothing had to be).
 * Whether the human has proof is asked at the edge. Source: L-57, decision 7.
 */
export async function completeProject(
  tx: Tx,
  wish: Wish & { projectId: string; reason: string; shippedAt?: number },
): Promise<Result<ProjectRow>> {
  const refusal = humanRefusal(wish, 'project') ?? reasonRefusal(wish.reason, 'complete');
  if (refusal) return refusal;
  const project = await lockProject(tx, wish.projectId);
  if (!project.ok) return project;
  const moved = await moveProject(tx, project.value, {
    to: 'done',
    event: 'project.completed',
    ...by(wish),
    set: { done_by: wish.actor.id, shipped_at: wish.shippedAt ?? null },
  });
  if (!moved.ok) return moved;
  const { id } = project.value;
  await keepReason(tx, { kind: 'project', id, projectId: id }, 'complete', wish.reason, wish.actor);
  await voidDecisions(tx, { subjectId: id }, 'project done');
  return ok(moved.value.row);
}

/** A human confirms a job whose tasks are over and whose validation team has not spoken: review → done, then cascades. */
export async function confirmJob(tx: Tx, wish: Wish & { jobId: string; reason: string }): Promise<Result<JobRow>> {
  const refusal = humanRefusal(wish, 'job') ?? reasonRefusal(wish.reason, 'confirm');
  if (refusal) return refusal;
  const locked = await lockJob(tx, wish.jobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  const open = await tx.db
    .selectFrom('task')
    .select(['codename', 'status'])
    .where('job_id', '=', job.id)
    .where('status', 'not in', ['done', 'cancelled'])
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  if (job.status !== 'review' || open) {
    return refuse(
      'wrong-state',
      'job_not_finished',
      open
        ? `Job ${job.codename} is not finished: task ${open.codename} is ${open.status}.`
        : `Job ${job.codename} is ${job.status}; only a job in review is confirmed.`,
      { job: job.id, status: job.status },
    );
  }
  const moved = await moveJob(tx, job, { to: 'done', event: 'job.completed', ...by(wish), facts: { by: 'human' } });
  if (!moved.ok) return moved;
  await keepReason(tx, { kind: 'job', id: job.id, projectId: job.project_id }, 'confirm', wish.reason, wish.actor);
  await afterJobEnded(tx, moved.value.row, moved.value.eventId);
  return ok(moved.value.row);
}

function humanRefusal(wish: Wish, kind: string): ReturnType<typeof reasonRefusal> {
  if (wish.actor.kind === 'operator') return undefined;
  return refuse('not-permitted', 'humans_only', `Only an operator completes a ${kind} (L-57).`);
}
