import { type Actor, ok, refuse, type Result } from '../../kernel/index.ts';
import { closePullRequest, openPullRequestOfTask } from '../../review/index.ts';
import { endSession, findSession } from '../../sessions/index.ts';
import type { Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';

/**
 * Before work is cancelled: its living sessions, reviewers of its changes included, end as ABORTED and its open pull requests
 * are closed, in the same transaction. Refuses `landing` while a change of it is being landed: that is a fact of git by then.
 */
export async function endWorkOf(
  tx: Tx,
  ctx: AppContext,
  of: { taskId: string } | { jobId: string } | { projectId: string },
  actor: Actor,
): Promise<Result<undefined>> {
  for (const taskId of await tasksOf(tx, of)) {
    const pullRequest = await openPullRequestOfTask(tx.db, taskId);
    if (pullRequest?.state === 'landing') {
      return refuse('wrong-state', 'landing', `Pull request ${pullRequest.number} is being landed; wait for its end.`, {
        pullRequest: pullRequest.id,
      });
    }
    const sessions = await tx.db
      .selectFrom('session')
      .select('id')
      .where((eb) => eb.or([eb('task_id', '=', taskId), eb('pull_request_id', '=', pullRequest?.id ?? null)]))
      .where('ended_at', 'is', null)
      .execute();
    for (const { id } of sessions) {
      const row = await findSession(tx.db, id);
      const ended = row
        ? await endSession(tx, ctx.sessions, row, 'ABORTED', { actor, reason: 'work_cancelled' })
        : ok(undefined);
      if (!ended.ok) return ended;
    }
    if (!pullRequest) continue;
    const closed = await closePullRequest(tx, { pullRequestId: pullRequest.id, reason: 'work_cancelled', actor });
    if (!closed.ok) return closed;
  }
  return ok();
}

async function tasksOf(tx: Tx, of: { taskId: string } | { jobId: string } | { projectId: string }): Promise<string[]> {
  if ('taskId' in of) return [of.taskId];
  let query = tx.db.selectFrom('task').select('id').where('status', 'not in', ['done', 'cancelled']);
  query = 'jobId' in of ? query.where('job_id', '=', of.jobId) : query.where('project_id', '=', of.projectId);
  return (await query.execute()).map((task) => task.id);
}
