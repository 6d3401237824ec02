import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { addApproval, readApprovals, voidApprovals } from './approvals.ts';
import { endClaim } from './claim-store.ts';
import { supersedeFeedback } from './feedback.ts';
import { withdrawLandings } from './landing-store.ts';
import { recordHead } from './open-pull-request.ts';
import { type Contributor, type PullRequest, pullRequestsTopic, type PullRequestState } from './pull-request.ts';
import {
  addContributor,
  holdPullRequest,
  listPullRequests,
  mustMove,
  readPullRequest,
  unknownPullRequest,
  wrongState,
} from './pull-request-store.ts';

/** A head that the branch has now. */
export interface NewHead {
  pullRequestId: string;
  headSha: string;
  baseSha: string;
  /** Of merge base to head; equal to the old one = the same change on another base. */
  patchId?: string;
  /** A conflict was resolved on the way: then nothing is carried over. */
  hasConflictResolution: boolean;
  pushedBy: Contributor;
  /** When approvals survive a clean rebase (option `carryOverOnCleanRebase`): default `low-risk`. */
  carryOver?: 'low-risk' | 'always' | 'never';
  skipRiskAssessment?: boolean;
  actor: Actor;
}

/**
 * Takes a new head: the running review is superseded, a waiting candidate withdrawn, approvals are void unless the patch is the
 * same, and the risk is judged anew (R-20, A4, A9). The same head again changes nothing. Refuses `pull_request_state`
 * while a landing is in flight, and for an ended one; a closed one is opened again (P2).
 */
export async function moveHead(tx: Tx, head: NewHead): Promise<Result<PullRequest>> {
  const pullRequest = await holdPullRequest(tx, head.pullRequestId);
  if (!pullRequest) return unknownPullRequest(head.pullRequestId);
  if (pullRequest.headSha === head.headSha && pullRequest.state !== 'closed') return ok(pullRequest);
  if (pullRequest.state === 'merged' || pullRequest.state === 'restarted')
    return wrongState(pullRequest, 'takes no new head; open another one');
  if (pullRequest.state === 'landing' || pullRequest.state === 'queued')
    return wrongState(pullRequest, 'cannot take a new head now; wait for the landing to end');
  if (pullRequest.state === 'closed' && (await isBranchTaken(tx, pullRequest))) {
    return refuse('duplicate', 'pull_request_open', `Branch ${pullRequest.branch} has another open pull request.`, {
      id: pullRequest.id,
    });
  }
  await endClaim(tx, pullRequest.id, { state: 'released', reason: 'head_moved', actor: head.actor });
  await withdrawLandings(tx, pullRequest.id, 'head_moved');
  await supersedeFeedback(tx, pullRequest.id);
  const isCarried = await settleApprovals(tx, pullRequest, head);
  await addContributor(tx, pullRequest.id, head.pushedBy);
  await recordHead(tx, pullRequest.id, { ...head, pushedBy: head.pushedBy.contributor });
  await writeHead(tx, pullRequest, head);
  await moveState(tx, pullRequest, head, isCarried);
  tx.wake(pullRequestsTopic, pullRequest.id);
  return ok((await readPullRequest(tx.db, pullRequest.id)) as PullRequest);
}

async function isBranchTaken(tx: Tx, pullRequest: PullRequest): Promise<boolean> {
  const { repositoryId, branch } = pullRequest;
  return (await listPullRequests(tx.db, { repositoryId, branch, isOpen: true, limit: 1 })).length > 0;
}

/** Carries current approvals to the new head where it is the same patch, else voids them. */
async function settleApprovals(tx: Tx, pullRequest: PullRequest, head: NewHead): Promise<boolean> {
  const approvals = (await readApprovals(tx.db, pullRequest.id)).filter(
    (one) => one.headSha === pullRequest.headSha && one.baseRef === pullRequest.baseRef,
  );
  await voidApprovals(tx, pullRequest, 'head_moved');
  const option = head.carryOver ?? 'low-risk';
  const isAllowed = option === 'always' || (option === 'low-risk' && pullRequest.risk === 'low');
  const isSamePatch = head.patchId !== undefined && head.patchId === pullRequest.patchId && !head.hasConflictResolution;
  if (pullRequest.state !== 'approved' || !isAllowed || !isSamePatch || approvals.length === 0) return false;
  for (const approval of approvals) {
    await addApproval(tx, pullRequest.id, { ...approval, headSha: head.headSha });
    await tx.emit({
      kind: 'approval.carried',
      actor: head.actor,
      subject: { kind: 'pull-request', id: pullRequest.id },
      facts: { from: pullRequest.headSha, to: head.headSha, reviewer: approval.reviewer },
    });
  }
  return true;
}

async function writeHead(tx: Tx, pullRequest: PullRequest, head: NewHead): Promise<void> {
  await tx.db
    .updateTable('pull_request')
    .set({
      head_sha: head.headSha,
      base_sha: head.baseSha,
      patch_id: head.patchId ?? null,
      risk: null,
      risk_reasons: '[]',
      needs_human: 0,
      files: '[]',
      updated_at: tx.now,
    })
    .where('id', '=', pullRequest.id)
    .execute();
  await tx.emit({
    kind: 'pull-request.head-moved',
    actor: head.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { from: pullRequest.headSha, to: head.headSha, base: head.baseSha, pushed_by: head.pushedBy.contributor },
  });
}

/** Back to the start of the review; a human review and a hold stay what they are, and so does a carried approval. */
async function moveState(tx: Tx, pullRequest: PullRequest, head: NewHead, isCarried: boolean): Promise<void> {
  if (isCarried || pullRequest.state === 'hitl') return;
  const to: PullRequestState = head.skipRiskAssessment ? 'awaiting_reviewer' : 'awaiting_risk';
  if (pullRequest.state === 'held') {
    await tx.db.updateTable('pull_request').set({ held_from: to }).where('id', '=', pullRequest.id).execute();
    return;
  }
  if (pullRequest.state !== to) await mustMove(tx, pullRequest, { to, reason: 'pushed', actor: head.actor });
}

/** Aims the pull request at another base: its approvals are void and the risk is judged anew (P3 `hydrate`). */
export async function changeBase(
  tx: Tx,
  change: { pullRequestId: string; baseRef: string; baseSha: string; skipRiskAssessment?: boolean; actor: Actor },
): Promise<Result<PullRequest>> {
  const pullRequest = await holdPullRequest(tx, change.pullRequestId);
  if (!pullRequest) return unknownPullRequest(change.pullRequestId);
  if (pullRequest.baseRef === change.baseRef) return ok(pullRequest);
  if (pullRequest.closedAt !== null || pullRequest.state === 'landing' || pullRequest.state === 'queued')
    return wrongState(pullRequest, 'cannot change its base');
  await endClaim(tx, pullRequest.id, { state: 'released', reason: 'base_changed', actor: change.actor });
  await withdrawLandings(tx, pullRequest.id, 'base_changed');
  await voidApprovals(tx, pullRequest, 'base_changed');
  await tx.db
    .updateTable('pull_request')
    .set({
      base_ref: change.baseRef,
      base_sha: change.baseSha,
      patch_id: null,
      risk: null,
      risk_reasons: '[]',
      needs_human: 0,
      files: '[]',
    })
    .where('id', '=', pullRequest.id)
    .execute();
  await tx.emit({
    kind: 'pull-request.base-changed',
    actor: change.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { from: pullRequest.baseRef, to: change.baseRef },
  });
  const { actor, skipRiskAssessment } = change;
  await moveState(
    tx,
    pullRequest,
    { actor, ...(skipRiskAssessment === undefined ? {} : { skipRiskAssessment }) } as NewHead,
    false,
  );
  return ok((await readPullRequest(tx.db, pullRequest.id)) as PullRequest);
}
