import { type Actor, ok, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { askHumansOrHold } from './human-review.ts';
import type { PullRequest } from './pull-request.ts';
import { holdPullRequest, mustMove, unknownPullRequest } from './pull-request-store.ts';

/**
 * An approved pull request that something blocks goes to whom it waits for: a missing approval to a reviewer, an unknown risk to
 * the rules, anything else to humans with the message. A closed base lifts by itself. `code` is a `BlockerCode` or what
 * keeps the base from being read. Refuses `unknown_pull_request`.
 */
export async function resolveBlocked(
  tx: Tx,
  blocked: { pullRequestId: string; code: string; message: string; humans: readonly string[]; actor: Actor },
): Promise<Result<PullRequest>> {
  const pullRequest = await holdPullRequest(tx, blocked.pullRequestId);
  if (!pullRequest) return unknownPullRequest(blocked.pullRequestId);
  const { code, message, humans, actor } = blocked;
  if (pullRequest.state !== 'approved' || code === 'base_closed' || code === 'lease_held') return ok(pullRequest);
  const move = { reason: code, actor };
  if (code === 'approval_missing') return ok(await mustMove(tx, pullRequest, { ...move, to: 'awaiting_reviewer' }));
  if (code === 'risk_unknown') return ok(await mustMove(tx, pullRequest, { ...move, to: 'awaiting_risk' }));
  return ok(await askHumansOrHold(tx, pullRequest, { ...move, humans, detail: { summary: message } }));
}
