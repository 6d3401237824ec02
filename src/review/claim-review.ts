import { type Actor, newId, ok, refuse, type Result } from '../kernel/index.ts';
import { acquireLease, type Tx } from '../store/index.ts';
import { maxAttempts, qualifies, type ReviewerQuestion, type Topology } from './choose-reviewer.ts';
import {
  type ClaimId,
  endClaim,
  failureReasons,
  listClaims,
  readClaim,
  readLiveClaim,
  type ReviewClaim,
  reviewerLease,
} from './claim-store.ts';
import type { Family, PullRequest } from './pull-request.ts';
import { holdPullRequest, mustMove, readContributors, unknownPullRequest, wrongState } from './pull-request-store.ts';
import type { Kysely } from 'kysely';
import type { Schema } from '../store/index.ts';

/** A chosen reviewer takes a pull request. */
export interface NewClaim {
  pullRequestId: string;
  /** The head that the choice was made for. */
  headSha: string;
  reviewer: { agent: string; family: Family };
  topology: Topology;
  skipRiskAssessment?: boolean;
  actor: Actor;
}

/**
 * Claims a pull request for one reviewer: one live claim at a time, held by a lease without expiry. Refuses
 * `pull_request_state`, `stale_head`, `risk_unknown`, `risk_critical`, `reviewer_not_opposite`, `verdict_exists`,
 * `attempts_used_up` and `lease_held`.
 */
export async function claimReview(tx: Tx, claim: NewClaim): Promise<Result<ReviewClaim>> {
  const pullRequest = await holdPullRequest(tx, claim.pullRequestId);
  if (!pullRequest) return unknownPullRequest(claim.pullRequestId);
  const refused = await claimFault(tx, pullRequest, claim);
  if (refused) return refused;
  const id = newId<ClaimId>();
  const lease = await acquireLease(tx, reviewerLease(pullRequest.id), { holder: id, ttlMs: null, actor: claim.actor });
  if (!lease.ok) return lease;
  const { agent, family } = claim.reviewer;
  const round = pullRequest.rounds + 1;
  await tx.db
    .insertInto('review_claim')
    .values({
      id,
      pull_request_id: pullRequest.id,
      head_sha: pullRequest.headSha,
      round,
      reviewer: agent,
      family,
      session_id: null,
      generation: null,
      fence: lease.value.fence,
      state: 'live',
      created_at: tx.now,
      ended_at: null,
      end_reason: null,
    })
    .execute();
  await mustMove(tx, pullRequest, { to: 'reviewing', reason: 'claimed', actor: claim.actor });
  await tx.emit({
    kind: 'review.claimed',
    actor: claim.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { claim_id: id, reviewer: agent, family, head: pullRequest.headSha, round, fence: lease.value.fence },
  });
  return ok((await readClaim(tx.db, id)) as ReviewClaim);
}

async function claimFault(tx: Tx, pullRequest: PullRequest, claim: NewClaim): Promise<Result<never> | undefined> {
  const { agent, family } = claim.reviewer;
  if (pullRequest.state !== 'awaiting_reviewer') return wrongState(pullRequest, 'does not wait for a reviewer');
  if (pullRequest.headSha !== claim.headSha) {
    return refuse(
      'wrong-state',
      'stale_head',
      `Pull request ${pullRequest.number} has another head now; choose again.`,
      { head: pullRequest.headSha },
    );
  }
  if (pullRequest.risk === null && !claim.skipRiskAssessment) {
    return refuse(
      'wrong-state',
      'risk_unknown',
      `Pull request ${pullRequest.number} has no risk yet; it is skipped until the rules have judged it.`,
    );
  }
  if (pullRequest.risk === 'critical' && !claim.skipRiskAssessment) {
    return refuse(
      'not-permitted',
      'risk_critical',
      `Pull request ${pullRequest.number} is critical: no agent reviews it, a human does.`,
    );
  }
  if (!qualifies({ agent, family }, await readContributors(tx.db, pullRequest.id), claim.topology)) {
    return refuse(
      'not-permitted',
      'reviewer_not_opposite',
      `${agent} (${family}) may not review pull request ${pullRequest.number}: the reviewer is of another family and has no part in it.`,
    );
  }
  const question = await readReviewHistory(tx.db, pullRequest);
  if (family !== 'unknown' && question.verdictFamilies.includes(family)) {
    return refuse(
      'duplicate',
      'verdict_exists',
      `Pull request ${pullRequest.number} already has a verdict of family ${family} on this head.`,
    );
  }
  if ((question.failedAttempts[agent] ?? 0) >= maxAttempts) {
    return refuse(
      'quota',
      'attempts_used_up',
      `${agent} lost this head ${maxAttempts} times without a verdict; another reviewer or a human has to.`,
    );
  }
  return undefined;
}

/** What is already behind the live head: families with a verdict, and claims lost without one. */
export async function readReviewHistory(
  db: Kysely<Schema>,
  pullRequest: { id: string; headSha: string },
): Promise<Pick<ReviewerQuestion, 'verdictFamilies' | 'failedAttempts'>> {
  const verdicts = await db
    .selectFrom('pr_review')
    .select('family')
    .distinct()
    .where('pull_request_id', '=', pullRequest.id)
    .where('head_sha', '=', pullRequest.headSha)
    .where('kind', '=', 'agent')
    .execute();
  const failedAttempts: Record<string, number> = {};
  for (const claim of await listClaims(db, pullRequest.id)) {
    if (claim.headSha !== pullRequest.headSha || !failureReasons.includes(claim.endReason ?? '')) continue;
    failedAttempts[claim.reviewer] = (failedAttempts[claim.reviewer] ?? 0) + 1;
  }
  return { verdictFamilies: verdicts.map(({ family }) => family), failedAttempts };
}

/** Binds a live claim to the session that does the review; a verdict is taken from it alone. Refuses `claim_ended`. */
export async function bindReviewClaim(
  tx: Tx,
  binding: { claimId: string; sessionId: string; generation: number },
): Promise<Result<ReviewClaim>> {
  const row = await tx.db
    .updateTable('review_claim')
    .set({ session_id: binding.sessionId, generation: binding.generation })
    .where('id', '=', binding.claimId)
    .where('state', '=', 'live')
    .returning('id')
    .executeTakeFirst();
  if (!row)
    return refuse('wrong-state', 'claim_ended', `Claim ${binding.claimId} is unknown or has ended.`, {
      id: binding.claimId,
    });
  return ok((await readClaim(tx.db, binding.claimId)) as ReviewClaim);
}

/** Lets the live claim of a session follow it into a new generation (provider limit, takeover); the old token is void by then. */
export async function rebindReviewClaim(tx: Tx, session: { sessionId: string; generation: number }): Promise<void> {
  await tx.db
    .updateTable('review_claim')
    .set({ generation: session.generation })
    .where('session_id', '=', session.sessionId)
    .where('state', '=', 'live')
    .where('generation', '<', session.generation)
    .execute();
}

/**
 * Gives a pull request back without a verdict: `crashed`, `start_failed`, `stalled`, `no_verdict`, `evicted` count as failed
 * attempts, anything else does not (scenario 11). Nothing happens when the claim has ended (idempotent).
 */
export async function releaseReviewClaim(
  tx: Tx,
  release: { claimId: string; reason: string; actor: Actor },
): Promise<Result<{ isReleased: boolean }>> {
  const claim = await readClaim(tx.db, release.claimId);
  if (!claim) return refuse('not-found', 'unknown_claim', `unknown id ${release.claimId}`, { id: release.claimId });
  const pullRequest = await holdPullRequest(tx, claim.pullRequestId);
  const live = await readLiveClaim(tx.db, { pullRequestId: claim.pullRequestId });
  if (!pullRequest || live?.id !== claim.id) return ok({ isReleased: false });
  await endClaim(tx, pullRequest.id, { state: 'released', reason: release.reason, actor: release.actor });
  if (pullRequest.state === 'reviewing')
    await mustMove(tx, pullRequest, { to: 'awaiting_reviewer', reason: release.reason, actor: release.actor });
  return ok({ isReleased: true });
}
