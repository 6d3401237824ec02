import type { Kysely } from 'kysely';

import {
  type Actor,
  canonicalJson,
  newId,
  ok,
  refuse,
  type Refused,
  type Result,
  type VerdictId,
} from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import { addApproval } from './approvals.ts';
import { endClaim, readClaim, type ReviewClaim } from './claim-store.ts';
import { queueFeedback } from './feedback.ts';
import type { PullRequest } from './pull-request.ts';
import { holdPullRequest, mustMove, readPullRequest } from './pull-request-store.ts';
import { countRound } from './rounds.ts';
import {
  feedbackContent,
  type Finding,
  judgeFindings,
  type NewFinding,
  unreadFiles,
  type Verdict,
  verdictOf,
} from './verdict.ts';

/** A verdict as a reviewer's session hands it in. */
export interface NewVerdict {
  claimId: string;
  /** Session and generation that hold the claim; another one's verdict is refused. */
  sessionId: string;
  generation: number;
  /** The head that was reviewed. */
  headSha: string;
  decision: 'approve' | 'request_changes';
  summary: string;
  findings: readonly NewFinding[];
  /** Files that were really read. */
  coverage: readonly string[];
  /** False = given without a proved sandbox: advice, which never lands by itself (design 7). */
  isSandboxed: boolean;
  /** For the case that the rounds are used up. */
  humans: readonly string[];
  actor: Actor;
}

/** What became of a verdict. */
export interface SubmittedVerdict {
  verdict: Verdict;
  pullRequest: PullRequest;
  /** The rounds are used up: a human decides now. */
  isEscalated: boolean;
}

/**
 * Takes a verdict, once for each claim, bound to its head, claim and generation (P1). One that is late or for another head is
 * filed and changes nothing (field case 13). Refuses `unknown_claim`, `not_your_claim`, `verdict_given`, `nothing_blocks`
 * (request without a blocking finding), `findings_block` (approval with one) and `coverage_incomplete`.
 */
export async function submitVerdict(tx: Tx, submission: NewVerdict): Promise<Result<SubmittedVerdict>> {
  const known = await readClaim(tx.db, submission.claimId);
  if (!known)
    return refuse('not-found', 'unknown_claim', `unknown id ${submission.claimId}`, { id: submission.claimId });
  const pullRequest = (await holdPullRequest(tx, known.pullRequestId)) as PullRequest;
  const claim = (await readClaim(tx.db, submission.claimId)) as ReviewClaim;
  const findings = judgeFindings(submission.findings, pullRequest.files);
  const staleness = stalenessOf(claim, pullRequest, submission);
  const refused =
    (await claimFault(tx, claim, submission)) ??
    (staleness === undefined ? contentFault(pullRequest, submission, findings) : undefined);
  if (refused) return refused;
  const verdict = await fileVerdict(tx, claim, pullRequest, submission, { findings, staleness });
  if (staleness !== undefined) return ok({ verdict, pullRequest, isEscalated: false });
  await endClaim(tx, pullRequest.id, { state: 'finished', reason: 'verdict', actor: submission.actor });
  const isEscalated = await applyVerdict(tx, pullRequest, verdict, submission);
  return ok({ verdict, pullRequest: (await readPullRequest(tx.db, pullRequest.id)) as PullRequest, isEscalated });
}

async function claimFault(tx: Tx, claim: ReviewClaim, submission: NewVerdict): Promise<Refused | undefined> {
  if (claim.sessionId !== submission.sessionId || claim.generation !== submission.generation) {
    return refuse('not-permitted', 'not_your_claim', `Claim ${claim.id} belongs to another session or generation.`, {
      id: claim.id,
    });
  }
  const given = await tx.db.selectFrom('pr_review').select('id').where('claim_id', '=', claim.id).executeTakeFirst();
  if (given)
    return refuse(
      'duplicate',
      'verdict_given',
      `Claim ${claim.id} already has its verdict ${given.id}; verdicts are never changed.`,
      { id: given.id },
    );
  return undefined;
}

/** Why the verdict comes too late to count; `undefined` when it counts. */
function stalenessOf(claim: ReviewClaim, pullRequest: PullRequest, submission: NewVerdict): string | undefined {
  if (claim.state !== 'live') return `claim_${claim.state}`;
  if (submission.headSha !== claim.headSha || claim.headSha !== pullRequest.headSha) return 'head_moved';
  return pullRequest.state === 'reviewing' ? undefined : `pull_request_${pullRequest.state}`;
}

function contentFault(
  pullRequest: PullRequest,
  submission: NewVerdict,
  findings: readonly Finding[],
): Refused | undefined {
  const blocking = findings.filter((finding) => finding.isBlocking).length;
  if (submission.decision === 'request_changes' && blocking === 0) {
    return refuse(
      'invalid',
      'nothing_blocks',
      'A request for changes needs at least one finding with file, line and a failure scenario, in a file of this change. Complete it, or approve with notes.',
    );
  }
  if (submission.decision === 'approve' && blocking > 0) {
    return refuse(
      'invalid',
      'findings_block',
      `${blocking} findings block (file, line and scenario); request changes, or leave the scenario out to make them notes.`,
    );
  }
  const unread = submission.decision === 'approve' ? unreadFiles(pullRequest.files, submission.coverage) : [];
  if (unread.length > 0) {
    const shown = unread.slice(0, 20).join(', ');
    return refuse(
      'invalid',
      'coverage_incomplete',
      `An approval covers every file of the change; ${unread.length} are missing in coverage: ${shown}. Read them, then submit again.`,
      {
        missing: unread.length,
      },
    );
  }
  return undefined;
}

async function fileVerdict(
  tx: Tx,
  claim: ReviewClaim,
  pullRequest: PullRequest,
  submission: NewVerdict,
  judged: { findings: readonly Finding[]; staleness: string | undefined },
): Promise<Verdict> {
  const row = await tx.db
    .insertInto('pr_review')
    .values({
      id: newId<VerdictId>(),
      pull_request_id: pullRequest.id,
      claim_id: claim.id,
      kind: 'agent',
      reviewer: claim.reviewer,
      family: claim.family,
      session_id: submission.sessionId,
      generation: submission.generation,
      head_sha: submission.headSha,
      base_ref: pullRequest.baseRef,
      round: claim.round,
      decision: submission.decision,
      summary: submission.summary,
      findings: canonicalJson(judged.findings),
      coverage: canonicalJson(submission.coverage),
      is_advisory: submission.isSandboxed ? 0 : 1,
      effect: judged.staleness === undefined ? 'applied' : 'filed',
      effect_reason: judged.staleness ?? 'current',
      created_at: tx.now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const verdict = verdictOf(row);
  await tx.emit({
    kind: judged.staleness === undefined ? 'verdict.applied' : 'verdict.filed',
    actor: submission.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    sessionId: submission.sessionId,
    facts: {
      verdict_id: verdict.id,
      claim_id: claim.id,
      reviewer: claim.reviewer,
      family: claim.family,
      head: submission.headSha,
      decision: submission.decision,
      blocking: verdict.findings.filter((finding) => finding.isBlocking).length,
      reason: verdict.effectReason,
      is_advisory: verdict.isAdvisory,
    },
  });
  return verdict;
}

async function applyVerdict(
  tx: Tx,
  pullRequest: PullRequest,
  verdict: Verdict,
  submission: NewVerdict,
): Promise<boolean> {
  if (verdict.decision === 'approve') {
    await addApproval(tx, pullRequest.id, {
      reviewId: verdict.id,
      headSha: verdict.headSha,
      baseRef: verdict.baseRef,
      kind: 'agent',
      reviewer: verdict.reviewer,
      family: verdict.family,
      isAdvisory: verdict.isAdvisory,
    });
    await mustMove(tx, pullRequest, { to: 'approved', reason: 'approved', actor: submission.actor });
    return false;
  }
  await queueFeedback(tx, pullRequest, {
    source: 'verdict',
    id: verdict.id,
    content: feedbackContent(verdict),
    actor: submission.actor,
  });
  const { isEscalated } = await countRound(tx, pullRequest, {
    reason: 'changes_requested',
    humans: submission.humans,
    actor: submission.actor,
  });
  return isEscalated;
}

/** The verdicts of a pull request, oldest first, late ones included. */
export async function listVerdicts(db: Kysely<Schema>, pullRequestId: string): Promise<Verdict[]> {
  const rows = await db
    .selectFrom('pr_review')
    .selectAll()
    .where('pull_request_id', '=', pullRequestId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(verdictOf);
}
