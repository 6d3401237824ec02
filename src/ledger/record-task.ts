import { type Actor, ok, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { afterAttempts, stopIfExhausted } from './attempts.ts';
import { checkClaim, endClaim, openDelivery } from './claims.ts';
import { lockTask, type TaskRow } from './rows.ts';

/**
 * Records the result of a test of a task (L-13). A failure counts as a failed try, so that two name a stronger model and
 * three ask a human; a pass begins the count anew (L-35, decision 20). With `fence` the claim is checked first.
 */
export async function recordTestResult(
  tx: Tx,
  test: { taskId: string; result: NonNullable<TaskRow['last_test_result']>; fence?: number; actor: Actor },
): Promise<Result<TaskRow>> {
  const locked = await lockTask(tx, test.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  if (test.fence !== undefined) {
    const held = await checkClaim(tx, { taskId: task.id, fence: test.fence });
    if (!held.ok) return held;
  }
  const attempts = test.result === 'fail' ? task.attempts + 1 : test.result === 'pass' ? 0 : task.attempts;
  const row = await tx.db
    .updateTable('task')
    .set({ ...afterAttempts(task, attempts), last_test_result: test.result, updated_at: tx.now })
    .where('id', '=', task.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const eventId = await tx.emit({
    kind: 'task.tested',
    actor: test.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    facts: { result: test.result, attempts },
  });
  if ((row.status !== 'todo' && row.status !== 'doing') || (await openDelivery(tx.db, task.id))) return ok(row);
  const after = await stopIfExhausted(tx, row, eventId);
  if (after.status === 'paused') await endClaim(tx, task.id, 'attempts exhausted', test.actor);
  return ok(after);
}
