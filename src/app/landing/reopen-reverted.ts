import { type Actor, ok, type Result } from '../../kernel/index.ts';
import { reopenTask } from '../../ledger/index.ts';
import { type PullRequest, readLanding, readPullRequest } from '../../review/index.ts';
import type { Tx } from '../../store/index.ts';

/**
 * A landed revert opens the task again whose change it took back and, where they had moved on, its job and project, with the
 * revert's reason (design section 6 "Undo"). A task that is open already stays as it is.
 */
export async function reopenReverted(tx: Tx, revert: PullRequest, actor: Actor): Promise<Result<undefined>> {
  const landing = revert.revertOf === null ? undefined : await readLanding(tx.db, revert.revertOf);
  const undone = landing ? await readPullRequest(tx.db, landing.pullRequestId) : undefined;
  if (!undone?.taskId) return ok();
  const reason = `Its change was reverted: ${revert.body}`.slice(0, 500);
  const reopened = await reopenTask(tx, { taskId: undone.taskId, reason, actor });
  return reopened.ok || reopened.refusal.code === 'task_not_over' ? ok() : reopened;
}
