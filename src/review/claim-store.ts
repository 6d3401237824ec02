import type { Kysely } from 'kysely';

import type { Actor, Id } from '../kernel/index.ts';
import { releaseLease, type Schema, type Tx } from '../store/index.ts';
import type { Family } from './pull-request.ts';
import type { ReviewClaimRow } from './rows.ts';

export type ClaimId = Id<'review-claim'>;

/** A reviewer's hold on a pull request. Work key of its session: `pr-<number>/r<round>`. */
export interface ReviewClaim {
  id: ClaimId;
  pullRequestId: string;
  headSha: string;
  round: number;
  reviewer: string;
  family: Family;
  sessionId: string | null;
  generation: number | null;
  /** Number of the lease; grows with each claim of the pull request. */
  fence: number;
  state: 'live' | 'finished' | 'released';
  createdAt: number;
  endReason: string | null;
}

/** Reasons for which a claim ended without a verdict that count as a failed attempt (scenario 11). */
export const failureReasons: readonly string[] = ['no_verdict', 'crashed', 'start_failed', 'stalled', 'evicted'];

export function claimOf(row: ReviewClaimRow): ReviewClaim {
  return {
    id: row.id as ClaimId,
    pullRequestId: row.pull_request_id,
    headSha: row.head_sha,
    round: row.round,
    reviewer: row.reviewer,
    family: row.family,
    sessionId: row.session_id,
    generation: row.generation,
    fence: row.fence,
    state: row.state,
    createdAt: row.created_at,
    endReason: row.end_reason,
  };
}

export async function readClaim(db: Kysely<Schema>, id: string): Promise<ReviewClaim | undefined> {
  const row = await db.selectFrom('review_claim').selectAll().where('id', '=', id).executeTakeFirst();
  return row && claimOf(row);
}

/** The claim that is live, or `undefined`. */
export async function readLiveClaim(
  db: Kysely<Schema>,
  match: { pullRequestId: string } | { sessionId: string },
): Promise<ReviewClaim | undefined> {
  let query = db.selectFrom('review_claim').selectAll().where('state', '=', 'live');
  query =
    'sessionId' in match
      ? query.where('session_id', '=', match.sessionId)
      : query.where('pull_request_id', '=', match.pullRequestId);
  const row = await query.executeTakeFirst();
  return row && claimOf(row);
}

/** Every claim of a pull request, oldest first. */
export async function listClaims(db: Kysely<Schema>, pullRequestId: string): Promise<ReviewClaim[]> {
  const rows = await db
    .selectFrom('review_claim')
    .selectAll()
    .where('pull_request_id', '=', pullRequestId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(claimOf);
}

export function reviewerLease(pullRequestId: string): { resourceType: string; resourceId: string; slot: string } {
  return { resourceType: 'pull-request', resourceId: pullRequestId, slot: 'reviewer' };
}

/** Ends the live claim of a pull request, if there is one, with its lease and event. */
export async function endClaim(
  tx: Tx,
  pullRequestId: string,
  end: { state: 'finished' | 'released'; reason: string; actor: Actor },
): Promise<ReviewClaim | undefined> {
  const row = await tx.db
    .updateTable('review_claim')
    .set({ state: end.state, ended_at: tx.now, end_reason: end.reason })
    .where('pull_request_id', '=', pullRequestId)
    .where('state', '=', 'live')
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  await releaseLease(tx, reviewerLease(pullRequestId), { reason: end.reason, actor: end.actor, fence: row.fence });
  if (end.state === 'released') {
    await tx.emit({
      kind: 'review.released',
      actor: end.actor,
      subject: { kind: 'pull-request', id: pullRequestId },
      ...(row.session_id === null ? {} : { sessionId: row.session_id }),
      facts: { claim_id: row.id, reviewer: row.reviewer, head: row.head_sha, reason: end.reason },
    });
  }
  return claimOf(row);
}
