import { type Actor, newId, ok, refuse, type Refused, type Result, type VerdictId } from '../kernel/index.ts';
import { refuseUnlessHuman, settleDecision, type Tx, voidDecisions } from '../store/index.ts';
import { addApproval, voidApprovals } from './approvals.ts';
import { endClaim } from './claim-store.ts';
import { queueFeedback, supersedeFeedback } from './feedback.ts';
import { withdrawLandings } from './landing-store.ts';
import type { PullRequest } from './pull-request.ts';
import {
  holdPullRequest,
  mustMove,
  movePullRequest,
  readContributors,
  unknownPullRequest,
  wrongState,
} from './pull-request-store.ts';
import { settleRevert } from './request-revert.ts';

/** A human's act on a pull request. */
export interface PullRequestDecision {
  pullRequestId: string;
  actor: Actor;
  /** For `retry` and `abandon`: what the author or the record gets. */
  note?: string;
}

/**
 * A human approves the head they saw (A6): it counts in any topology, unless they have a part in the change. Refuses
 * `human_only`, `stale_head`, `contributor`, `risk_unknown` and `pull_request_state`.
 */
export async function approvePullRequest(
  tx: Tx,
  decision: PullRequestDecision & { headSha: string },
): Promise<Result<PullRequest>> {
  const held = await holdForDecision(tx, 'approve_pull_request', decision);
  if (!held.ok) return held;
  const { value: pullRequest } = held;
  const refused = await approvalFault(tx, pullRequest, decision);
  if (refused) return refused;
  await endClaim(tx, pullRequest.id, { state: 'released', reason: 'human_approved', actor: decision.actor });
  await fileHumanVerdict(tx, pullRequest, 'approve', decision);
  await settleReview(tx, pullRequest, 'approved', decision.actor);
  if (pullRequest.state === 'approved') return ok(pullRequest);
  const moved = await movePullRequest(tx, pullRequest, {
    to: 'approved',
    reason: 'approved_by_human',
    actor: decision.actor,
  });
  if ('ok' in moved) return moved;
  await supersedeFeedback(tx, pullRequest.id);
  return ok(moved);
}

async function approvalFault(
  tx: Tx,
  pullRequest: PullRequest,
  decision: PullRequestDecision & { headSha: string },
): Promise<Refused | undefined> {
  if (pullRequest.headSha !== decision.headSha) {
    return refuse(
      'wrong-state',
      'stale_head',
      `Pull request ${pullRequest.number} has head ${pullRequest.headSha}; look at that one and decide again.`,
      { head: pullRequest.headSha },
    );
  }
  const contributors = await readContributors(tx.db, pullRequest.id);
  if (contributors.some(({ kind, contributor }) => kind === 'operator' && contributor === decision.actor.id)) {
    return refuse(
      'not-permitted',
      'contributor',
      `${decision.actor.id} has a part in pull request ${pullRequest.number}; somebody else has to approve it.`,
    );
  }
  if (!['awaiting_reviewer', 'reviewing', 'changes_requested', 'approved', 'hitl'].includes(pullRequest.state))
    return wrongState(pullRequest, 'cannot be approved now');
  return undefined;
}

async function fileHumanVerdict(
  tx: Tx,
  pullRequest: PullRequest,
  decision: 'approve' | 'request_changes',
  act: PullRequestDecision,
): Promise<VerdictId> {
  const id = newId<VerdictId>();
  await tx.db
    .insertInto('pr_review')
    .values({
      id,
      pull_request_id: pullRequest.id,
      claim_id: null,
      kind: 'human',
      reviewer: act.actor.id,
      family: 'human',
      session_id: null,
      generation: null,
      head_sha: pullRequest.headSha,
      base_ref: pullRequest.baseRef,
      round: pullRequest.rounds + 1,
      decision,
      summary: act.note ?? '',
      findings: '[]',
      coverage: '[]',
      is_advisory: 0,
      effect: 'applied',
      effect_reason: 'current',
      created_at: tx.now,
    })
    .execute();
  if (decision === 'approve') {
    const { headSha, baseRef } = pullRequest;
    await addApproval(tx, pullRequest.id, {
      reviewId: id,
      headSha,
      baseRef,
      kind: 'human',
      reviewer: act.actor.id,
      family: 'human',
      isAdvisory: false,
    });
  }
  await tx.emit({
    kind: 'verdict.applied',
    actor: act.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: {
      verdict_id: id,
      reviewer: act.actor.id,
      family: 'human',
      head: pullRequest.headSha,
      decision,
      reason: 'current',
    },
  });
  return id;
}

/**
 * A human sends a pull request on again and sets its rounds back to 0: with a note to the author, as a request for changes that counts
 * as no round; without one to a reviewer. Refuses `human_only`, `note_missing` for a critical one, `pull_request_state`.
 */
export async function retryPullRequest(tx: Tx, decision: PullRequestDecision): Promise<Result<PullRequest>> {
  const held = await holdForDecision(tx, 'retry_pull_request', decision);
  if (!held.ok) return held;
  const { value: pullRequest } = held;
  const note = decision.note?.trim() ?? '';
  if (
    !['hitl', 'held', 'changes_requested', 'awaiting_reviewer', 'reviewing', 'approved'].includes(pullRequest.state)
  ) {
    return wrongState(pullRequest, 'cannot be tried again now');
  }
  if (note === '' && pullRequest.risk === 'critical') {
    return refuse(
      'invalid',
      'note_missing',
      `Pull request ${pullRequest.number} is critical, so no agent reviews it: approve it, lower its risk, or say in a note what the author shall change.`,
    );
  }
  await endClaim(tx, pullRequest.id, { state: 'released', reason: 'human_retry', actor: decision.actor });
  await withdrawLandings(tx, pullRequest.id, 'human_retry');
  await voidApprovals(tx, pullRequest, 'human_retry');
  await supersedeFeedback(tx, pullRequest.id);
  await settleReview(tx, pullRequest, 'retry', decision.actor);
  if (note !== '') {
    const id = await fileHumanVerdict(tx, pullRequest, 'request_changes', decision);
    await queueFeedback(tx, pullRequest, {
      source: 'human',
      id,
      content: { summary: note, by: decision.actor.id },
      actor: decision.actor,
    });
  }
  await tx.emit({
    kind: 'pull-request.rounds-reset',
    actor: decision.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { from: pullRequest.rounds },
  });
  const to = note === '' ? 'awaiting_reviewer' : 'changes_requested';
  if (pullRequest.state === to) {
    await tx.db
      .updateTable('pull_request')
      .set({ rounds: 0, updated_at: tx.now })
      .where('id', '=', pullRequest.id)
      .execute();
    return ok({ ...pullRequest, rounds: 0 });
  }
  const moved = await movePullRequest(tx, pullRequest, {
    to,
    reason: 'human_retry',
    actor: decision.actor,
    set: { rounds: 0 },
  });
  return 'ok' in moved ? moved : ok(moved);
}

/** A human gives the change up. Refuses `human_only` and `pull_request_state`. */
export async function abandonPullRequest(tx: Tx, decision: PullRequestDecision): Promise<Result<PullRequest>> {
  const held = await holdForDecision(tx, 'abandon_pull_request', decision);
  if (!held.ok) return held;
  await settleReview(tx, held.value, 'abandoned', decision.actor);
  return close(tx, held.value, 'abandoned', decision.actor);
}

/** Closes a pull request because its task or branch is gone. Nothing happens when it has ended. */
export async function closePullRequest(
  tx: Tx,
  request: { pullRequestId: string; reason: string; actor: Actor },
): Promise<Result<PullRequest>> {
  const pullRequest = await holdPullRequest(tx, request.pullRequestId);
  if (!pullRequest) return unknownPullRequest(request.pullRequestId);
  return pullRequest.closedAt === null ? close(tx, pullRequest, request.reason, request.actor) : ok(pullRequest);
}

async function close(tx: Tx, pullRequest: PullRequest, reason: string, actor: Actor): Promise<Result<PullRequest>> {
  if (pullRequest.state === 'landing')
    return wrongState(pullRequest, 'cannot be closed while its landing is in flight');
  await endClaim(tx, pullRequest.id, { state: 'released', reason, actor });
  await withdrawLandings(tx, pullRequest.id, reason);
  await supersedeFeedback(tx, pullRequest.id);
  await voidApprovals(tx, pullRequest, reason);
  await voidDecisions(tx, { subjectId: pullRequest.id }, reason);
  if (pullRequest.revertOf !== null) await settleRevert(tx, pullRequest.id, 'abandoned');
  const moved = await movePullRequest(tx, pullRequest, { to: 'closed', reason, actor });
  return 'ok' in moved ? moved : ok(moved);
}

/** A human stops a pull request where it is: nothing is dispatched or landed until it is released. */
export async function holdBack(tx: Tx, decision: PullRequestDecision): Promise<Result<PullRequest>> {
  const held = await holdForDecision(tx, 'hold_pull_request', decision);
  if (!held.ok) return held;
  if (held.value.state === 'held') return ok(held.value);
  await endClaim(tx, held.value.id, { state: 'released', reason: 'held', actor: decision.actor });
  await withdrawLandings(tx, held.value.id, 'held');
  const moved = await movePullRequest(tx, held.value, { to: 'held', reason: 'held', actor: decision.actor });
  return 'ok' in moved ? moved : ok(moved);
}

/** Lets a held pull request go on where it was; one that was being reviewed waits for a reviewer. */
export async function letGoOn(tx: Tx, decision: PullRequestDecision): Promise<Result<PullRequest>> {
  const held = await holdForDecision(tx, 'release_pull_request', decision);
  if (!held.ok) return held;
  const { value: pullRequest } = held;
  if (pullRequest.state !== 'held' || pullRequest.heldFrom === null) return wrongState(pullRequest, 'is not held');
  const from = pullRequest.heldFrom;
  const to = from === 'reviewing' ? 'awaiting_reviewer' : from === 'queued' ? 'approved' : from;
  return ok(await mustMove(tx, pullRequest, { to, reason: 'released', actor: decision.actor }));
}

async function holdForDecision(tx: Tx, act: string, decision: PullRequestDecision): Promise<Result<PullRequest>> {
  const refused = refuseUnlessHuman({
    actor: decision.actor,
    act,
    subject: { kind: 'pull-request', id: decision.pullRequestId },
  });
  if (refused) return refused;
  const pullRequest = await holdPullRequest(tx, decision.pullRequestId);
  if (!pullRequest) return unknownPullRequest(decision.pullRequestId);
  return pullRequest.closedAt === null ? ok(pullRequest) : wrongState(pullRequest, 'has ended');
}

/** Settles the open question of a human review with what was done. */
async function settleReview(tx: Tx, pullRequest: PullRequest, outcome: string, actor: Actor): Promise<void> {
  const open = await tx.db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', `human_review:${pullRequest.id}`)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (open) await settleDecision(tx, open.id, { outcome, actor });
}
