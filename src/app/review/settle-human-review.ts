import { ok, refuse, type Result } from '../../kernel/index.ts';
import { confirmJob } from '../../ledger/index.ts';
import { abandonPullRequest, approvePullRequest, type PullRequest, retryPullRequest } from '../../review/index.ts';
import { endDelivery } from '../../ledger/index.ts';
import { type DecisionRequestRow, settleDecision, type Tx } from '../../store/index.ts';
import type { HumanAct, VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';

/**
 * A human's answer where agents may not go on. Approve binds to the head that was shown; refuse with a note sends the change
 * back to its author, without one it gives it up. A job that waits to be confirmed is confirmed.
 */
export async function settleHumanReview(
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  if (decision.subject_kind === 'job') return settleJob(ctx, caller, decision, verdict);
  const act: HumanAct =
    verdict.verdict === 'approve'
      ? { act: 'approve', ...(verdict.note === undefined ? {} : { note: verdict.note }) }
      : {
          act: verdict.note === undefined ? 'abandon' : 'retry',
          ...(verdict.note === undefined ? {} : { note: verdict.note }),
        };
  const shown = (JSON.parse(decision.detail) as { head?: string }).head;
  const done = await actAsHuman(ctx, caller, decision.subject_id, act, verdict.head ?? shown);
  if (!done.ok) return done;
  const words = {
    approve: 'Approved by you; its candidate is built next.',
    retry: 'Sent back with your note.',
    abandon: 'Given up.',
  };
  return ok({ message: words[act.act] });
}

/** One act of a human on a pull request; `head` is what they have seen (A6). */
export async function actAsHuman(
  ctx: AppContext,
  caller: Caller,
  pullRequestId: string,
  act: HumanAct,
  head: string | undefined,
): Promise<Result<{ id: string }>> {
  return once(ctx.store, caller, 'pull-request.human', { pullRequestId, act, head }, async (tx) => {
    const result = await apply(tx, caller, pullRequestId, act, head);
    if (!result.ok) return result;
    if (act.act === 'abandon' && result.value.taskId) {
      const ended = await endDelivery(tx, {
        taskId: result.value.taskId,
        pullRequestId,
        next: 'paused',
        actor: caller.actor,
      });
      if (!ended.ok) return ended;
    }
    return ok({ id: pullRequestId });
  });
}

async function apply(
  tx: Tx,
  caller: Caller,
  pullRequestId: string,
  act: HumanAct,
  head: string | undefined,
): Promise<Result<PullRequest>> {
  const decision = { pullRequestId, actor: caller.actor, ...(act.note === undefined ? {} : { note: act.note }) };
  if (act.act === 'retry') return retryPullRequest(tx, decision);
  if (act.act === 'abandon') return abandonPullRequest(tx, decision);
  if (head === undefined)
    return refuse('invalid', 'head_missing', 'Say which head you have seen; `chantier pr show` names it.');
  return approvePullRequest(tx, { ...decision, headSha: head });
}

async function settleJob(
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  return ctx.store.tx(async (tx) => {
    if (verdict.verdict === 'approve') {
      const confirmed = await confirmJob(tx, {
        jobId: decision.subject_id,
        reason: verdict.note ?? 'confirmed by a human',
        actor: caller.actor,
      });
      return confirmed.ok ? ok({ message: `Job ${confirmed.value.codename} is done.` }) : confirmed;
    }
    const settled = await settleDecision(tx, decision.id, { outcome: 'refused', actor: caller.actor });
    return settled.ok ? ok({ message: 'Add what is missing as a task of the job; it goes back to dev.' }) : settled;
  });
}
