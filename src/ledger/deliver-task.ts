import { type Actor, mustOk, newId, ok, refuse, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { afterAttempts, stopIfExhausted } from './attempts.ts';
import { settleJob } from './cascade.ts';
import { checkClaim, endClaim, endDeliveryRow, openDelivery } from './claims.ts';
import { moveTask, tasksTopic, wrongState } from './move-status.ts';
import { lockTask, type TaskRow } from './rows.ts';

/**
 * Hands in the work of a task: it stays doing, held by its pull request, and its claim ends (README 2.10). Its job goes
 * to review when nothing else is left. Delivered again after rework it keeps its pull request. Refuses without a
 * repository, with another open pull request, or when `fence` is no longer the live claim.
 */
export async function deliverTask(
  tx: Tx,
  delivery: { taskId: string; pullRequestId: string; fence?: number; actor: Actor; sessionId?: string },
): Promise<Result<{ task: TaskRow; redelivered: boolean }>> {
  const locked = await lockTask(tx, delivery.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  if (delivery.fence !== undefined) {
    const held = await checkClaim(tx, { taskId: task.id, fence: delivery.fence });
    if (!held.ok) return held;
  }
  if (task.status !== 'doing') return wrongState('task', task, 'delivered');
  if (task.repository_id === null) {
    return refuse(
      'wrong-state',
      'task_without_repository',
      `Task ${task.codename} has no repository: complete it instead of delivering it.`,
      { task: task.id },
    );
  }
  const open = await openDelivery(tx.db, task.id);
  if (open && open.pull_request_id !== delivery.pullRequestId) {
    return refuse(
      'wrong-state',
      'task_delivered',
      `Task ${task.codename} already waits for pull request ${open.pull_request_id}; end that one first.`,
      { task: task.id, pull_request: open.pull_request_id },
    );
  }
  if (!open) {
    await tx.db
      .insertInto('task_delivery')
      .values({
        id: newId(),
        task_id: task.id,
        pull_request_id: delivery.pullRequestId,
        delivered_by: delivery.sessionId ?? delivery.actor.id,
        delivered_at: tx.now,
        ended_at: null,
        outcome: null,
      })
      .execute();
  }
  const had = await endClaim(tx, task.id, 'delivered', delivery.actor);
  if (open && !had) return ok({ task, redelivered: true });
  const eventId = await tx.emit({
    kind: 'task.delivered',
    actor: delivery.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    ...(delivery.sessionId ? { sessionId: delivery.sessionId } : {}),
    facts: { pull_request: delivery.pullRequestId, again: open !== undefined },
  });
  tx.wake(tasksTopic, task.id);
  await settleJob(tx, task.job_id, eventId);
  return ok({ task, redelivered: open !== undefined });
}

/**
 * The pull request of a delivered task ended without landing: the task goes back to `todo` with one attempt more (the
 * restart of R-33), or is `paused` for a human. A living claim is ended. Nothing happens without a delivery.
 */
export async function endDelivery(
  tx: Tx,
  end: { taskId: string; pullRequestId: string; next: 'todo' | 'paused'; actor: Actor; cause?: string },
): Promise<Result<{ ended: boolean; task: TaskRow }>> {
  const locked = await lockTask(tx, end.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const open = await openDelivery(tx.db, task.id);
  if (!open || open.pull_request_id !== end.pullRequestId) return ok({ ended: false, task });
  await endDeliveryRow(tx, task.id, 'abandoned');
  await endClaim(tx, task.id, 'delivery ended', end.actor);
  const attempts = task.attempts + (end.next === 'todo' ? 1 : 0);
  const moved = mustOk(
    await moveTask(tx, task, {
      to: end.next,
      event: 'task.delivery-ended',
      actor: end.actor,
      ...(end.cause ? { cause: end.cause } : {}),
      facts: { pull_request: open.pull_request_id, attempts },
      set: afterAttempts(task, attempts),
    }),
  );
  const after = await stopIfExhausted(tx, moved.row, moved.eventId);
  await settleJob(tx, task.job_id, moved.eventId);
  return ok({ ended: true, task: after });
}
