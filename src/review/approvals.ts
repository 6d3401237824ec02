import type { Kysely } from 'kysely';

import { newId, systemActor, type VerdictId } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import type { Family, PullRequest } from './pull-request.ts';

/** An approval that is not void. */
export interface Approval {
  id: string;
  reviewId: string;
  headSha: string;
  baseRef: string;
  kind: 'agent' | 'human';
  reviewer: string;
  family: Family;
  isAdvisory: boolean;
}

/** The approvals that still count, for the head and base they were given for. */
export async function readApprovals(db: Kysely<Schema>, pullRequestId: string): Promise<Approval[]> {
  const rows = await db
    .selectFrom('pr_approval')
    .selectAll()
    .where('pull_request_id', '=', pullRequestId)
    .where('void_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    reviewId: row.review_id,
    headSha: row.head_sha,
    baseRef: row.base_ref,
    kind: row.kind,
    reviewer: row.reviewer,
    family: row.family,
    isAdvisory: row.is_advisory === 1,
  }));
}

export async function addApproval(tx: Tx, pullRequestId: string, approval: Omit<Approval, 'id'>): Promise<void> {
  await tx.db
    .insertInto('pr_approval')
    .values({
      id: newId<VerdictId>(),
      review_id: approval.reviewId,
      pull_request_id: pullRequestId,
      head_sha: approval.headSha,
      base_ref: approval.baseRef,
      kind: approval.kind,
      reviewer: approval.reviewer,
      family: approval.family,
      is_advisory: approval.isAdvisory ? 1 : 0,
      created_at: tx.now,
      void_at: null,
      void_reason: null,
    })
    .execute();
}

/** Voids every approval, for good (A4); gives the number. */
export async function voidApprovals(tx: Tx, pullRequest: PullRequest, reason: string): Promise<number> {
  const rows = await tx.db
    .updateTable('pr_approval')
    .set({ void_at: tx.now, void_reason: reason })
    .where('pull_request_id', '=', pullRequest.id)
    .where('void_at', 'is', null)
    .returning(['id', 'head_sha', 'reviewer'])
    .execute();
  for (const row of rows) {
    await tx.emit({
      kind: 'approval.voided',
      actor: systemActor('review'),
      subject: { kind: 'pull-request', id: pullRequest.id },
      facts: { approval_id: row.id, head: row.head_sha, reviewer: row.reviewer, reason },
    });
  }
  return rows.length;
}
