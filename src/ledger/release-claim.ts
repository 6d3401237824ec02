import { type Actor, mustOk, ok, type Result } from '../kernel/index.ts';
import { releaseLease, type Tx } from '../store/index.ts';
import { afterAttempts, stopIfExhausted } from './attempts.ts';
import { settleJob } from './cascade.ts';
import { claimSubject, openDelivery } from './claims.ts';
import { moveTask, tasksTopic } from './move-status.ts';
import { lockTask, type TaskRow } from './rows.ts';

/** Why a claim ends without a delivery, and what becomes of the task (README 2.10, design section 7). */
export const claimEnds = {
  /** The session crashed, could not start or was hung: todo with one attempt more; the third one stops it. */
  failed: 'todo',
  /** A human stopped the session: nobody starts the task again by itself. */
  stopped: 'paused',
  /** Nobody's fault (provider limit, no slot, handed back): todo, not counted. */
  returned: 'todo',
} as const;

export type ClaimEnd = keyof typeof claimEnds;

/**
 * Ends a claim, in the transaction that ends its session. A task that waits for its pull request stays doing, whatever
 * the end. A claim that is already gone (cancelled, completed, taken over) changes nothing: `released` is false. A crash
 * never makes a task done or cancelled.
 */
export async function releaseClaim(
  tx: Tx,
  release: { taskId: string; fence: number; end: ClaimEnd; actor: Actor; sessionId?: string; cause?: string },
): Promise<Result<{ released: boolean; task: TaskRow }>> {
  const locked = await lockTask(tx, release.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const released = await releaseLease(tx, claimSubject(task.id), {
    reason: release.end,
    actor: release.actor,
    fence: release.fence,
  });
  if (!released) return ok({ released, task });
  if (await openDelivery(tx.db, task.id)) return afterRework(tx, task, release);

  const attempts = release.end === 'failed' ? task.attempts + 1 : task.attempts;
  if (task.status === 'paused') {
    const kept = await keepAttempts(tx, task, attempts);
    return ok({ released, task: kept });
  }
  const moved = mustOk(
    await moveTask(tx, task, {
      to: claimEnds[release.end],
      event: 'task.released',
      actor: release.actor,
      ...(release.cause ? { cause: release.cause } : {}),
      ...(release.sessionId ? { sessionId: release.sessionId } : {}),
      facts: { end: release.end, fence: release.fence, attempts },
      set: afterAttempts(task, attempts),
    }),
  );
  const after = await stopIfExhausted(tx, moved.row, moved.eventId);
  await settleJob(tx, task.job_id, moved.eventId);
  return ok({ released, task: after });
}

/** A delivered task is held by its pull request: the claim goes, the task stays doing. */
async function afterRework(
  tx: Tx,
  task: TaskRow,
  release: { fence: number; end: ClaimEnd; actor: Actor; sessionId?: string; cause?: string },
): Promise<Result<{ released: boolean; task: TaskRow }>> {
  const eventId = await tx.emit({
    kind: 'task.released',
    actor: release.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    ...(release.cause ? { cause: release.cause } : {}),
    ...(release.sessionId ? { sessionId: release.sessionId } : {}),
    facts: { from: 'doing', to: 'doing', end: release.end, fence: release.fence, delivered: true },
  });
  tx.wake(tasksTopic, task.id);
  await settleJob(tx, task.job_id, eventId);
  return ok({ released: true, task });
}

async function keepAttempts(tx: Tx, task: TaskRow, attempts: number): Promise<TaskRow> {
  if (attempts === task.attempts) return task;
  return tx.db
    .updateTable('task')
    .set({ ...afterAttempts(task, attempts), updated_at: tx.now })
    .where('id', '=', task.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
