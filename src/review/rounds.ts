import type { Actor, Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { supersedeFeedback } from './feedback.ts';
import { type HumanReview, toHumans } from './human-review.ts';
import type { PullRequest } from './pull-request.ts';
import { mustMove } from './pull-request-store.ts';

/**
 * Counts one request for changes by machines and sends the pull request back to its author, or, when the rounds are used up, to humans
 * (R-14, A7: `maxRounds` 3 allows 3 fixes, the 4th request escalates). The count is written in the same transaction, so no restart
 * loses it. Without a configured human it stays where it is and nothing more is sent to the author.
 */
export async function countRound(
  tx: Tx,
  pullRequest: PullRequest,
  request: { reason: string; humans: readonly string[]; actor: Actor },
): Promise<{ isEscalated: boolean; humanReview?: Result<HumanReview> }> {
  const rounds = pullRequest.rounds + 1;
  const moved = await mustMove(tx, pullRequest, {
    to: 'changes_requested',
    reason: request.reason,
    actor: request.actor,
    set: { rounds },
  });
  if (rounds <= pullRequest.maxRounds) return { isEscalated: false };
  await supersedeFeedback(tx, pullRequest.id);
  const detail = { rounds, maxRounds: pullRequest.maxRounds, last: request.reason };
  const humanReview = await toHumans(tx, moved, {
    reason: 'rounds_used_up',
    humans: request.humans,
    detail,
    actor: request.actor,
  });
  return { isEscalated: true, humanReview };
}
