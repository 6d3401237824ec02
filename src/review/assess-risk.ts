import { type Actor, canonicalJson, newId, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import { refuseUnlessHuman, type Tx } from '../store/index.ts';
import { voidApprovals } from './approvals.ts';
import { type HumanReview, toHumans } from './human-review.ts';
import { withdrawLandings } from './landing-store.ts';
import { type ChangeRisk, higherRisk, type PullRequest, riskOrder } from './pull-request.ts';
import { holdPullRequest, mustMove, readPullRequest, unknownPullRequest, wrongState } from './pull-request-store.ts';
import type { RiskVerdict } from './risk.ts';

/** What came of a risk. `humanReview` is there when it led to humans, or would have. */
export interface AssessedRisk {
  pullRequest: PullRequest;
  humanReview?: Result<HumanReview>;
}

/**
 * Records the rules' verdict on the live head and moves on: critical to humans, else to the choice of a reviewer (R-5, R-38). Judged
 * again, a head's risk only rises; a human's raise holds. With `skipRiskAssessment` nobody is stopped by it, but the list
 * "Always by a human" stays on (A23). Refuses `stale_head` and `pull_request_state`.
 */
export async function assessRisk(
  tx: Tx,
  request: {
    pullRequestId: string;
    headSha: string;
    verdict: RiskVerdict;
    humans: readonly string[];
    skipRiskAssessment?: boolean;
    actor: Actor;
  },
): Promise<Result<AssessedRisk>> {
  const pullRequest = await holdPullRequest(tx, request.pullRequestId);
  if (!pullRequest) return unknownPullRequest(request.pullRequestId);
  if (pullRequest.closedAt !== null) return wrongState(pullRequest, 'needs no risk any more');
  if (pullRequest.headSha !== request.headSha) {
    return refuse(
      'wrong-state',
      'stale_head',
      `Pull request ${pullRequest.number} has another head now; judge that one.`,
      { head: pullRequest.headSha },
    );
  }
  const { verdict } = request;
  const level = [pullRequest.riskByHuman, pullRequest.risk].reduce<ChangeRisk>(
    (highest, other) => (other ? higherRisk(highest, other) : highest),
    verdict.level,
  );
  if (pullRequest.risk === null || level !== pullRequest.risk) await record(tx, pullRequest, request, level);
  return proceed(tx, (await readPullRequest(tx.db, pullRequest.id)) as PullRequest, request);
}

async function record(
  tx: Tx,
  pullRequest: PullRequest,
  request: { verdict: RiskVerdict; actor: Actor },
  level: ChangeRisk,
): Promise<void> {
  const { verdict, actor } = request;
  await tx.db
    .insertInto('risk_assessment')
    .values({
      id: newId(),
      subject_kind: 'pull-request',
      subject_id: pullRequest.id,
      head_sha: pullRequest.headSha,
      scale: 'change',
      level,
      reasons: canonicalJson(verdict.reasons),
      coverage: verdict.coverage,
      assessed_by: 'rules',
      created_at: tx.now,
    })
    .execute();
  await tx.db
    .updateTable('pull_request')
    .set({
      risk: level,
      risk_reasons: canonicalJson(verdict.reasons),
      needs_human: verdict.needsHuman ? 1 : 0,
      files: canonicalJson(verdict.files),
      updated_at: tx.now,
    })
    .where('id', '=', pullRequest.id)
    .execute();
  await tx.emit({
    kind: 'pull-request.risk-assessed',
    actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: {
      level,
      head: pullRequest.headSha,
      codes: verdict.reasons.map(({ code }) => code),
      coverage: verdict.coverage,
      needs_human: verdict.needsHuman,
    },
  });
}

async function proceed(
  tx: Tx,
  pullRequest: PullRequest,
  request: { humans: readonly string[]; skipRiskAssessment?: boolean; actor: Actor },
): Promise<Result<AssessedRisk>> {
  const isGated = !request.skipRiskAssessment;
  const { state } = pullRequest;
  if (
    pullRequest.risk === 'critical' &&
    isGated &&
    ['awaiting_risk', 'awaiting_reviewer', 'reviewing', 'changes_requested', 'approved'].includes(state)
  ) {
    const humanReview = await toHumans(tx, pullRequest, {
      reason: 'critical_risk',
      humans: request.humans,
      actor: request.actor,
    });
    return ok({ pullRequest: await reread(tx, pullRequest), humanReview });
  }
  if (state === 'awaiting_risk')
    await mustMove(tx, pullRequest, { to: 'awaiting_reviewer', reason: 'assessed', actor: request.actor });
  return ok({ pullRequest: await reread(tx, pullRequest) });
}

/**
 * A human sets the risk of the live head. Raising holds for later heads too, and critical stops the reviewer; lowering needs a
 * reason and fresh proof and holds for this head alone (A9). Refuses `human_only`, `fresh_proof`, `note_missing`.
 */
export async function setRisk(
  tx: Tx,
  request: {
    pullRequestId: string;
    headSha: string;
    level: ChangeRisk;
    reason: string;
    hasFreshProof: boolean;
    humans: readonly string[];
    actor: Actor;
  },
): Promise<Result<AssessedRisk>> {
  const subject = { kind: 'pull-request', id: request.pullRequestId };
  const notHuman = refuseUnlessHuman({ actor: request.actor, act: 'set_risk', subject });
  if (notHuman) return notHuman;
  const pullRequest = await holdPullRequest(tx, request.pullRequestId);
  if (!pullRequest) return unknownPullRequest(request.pullRequestId);
  const refused = setRiskFault(pullRequest, request);
  if (refused) return refused;
  const isRaise = pullRequest.risk === null || riskOrder.indexOf(request.level) > riskOrder.indexOf(pullRequest.risk);
  await tx.db
    .updateTable('pull_request')
    .set({ risk: request.level, risk_by_human: isRaise ? request.level : null, updated_at: tx.now })
    .where('id', '=', pullRequest.id)
    .execute();
  await tx.emit({
    kind: 'pull-request.risk-set',
    actor: request.actor,
    subject,
    facts: { from: pullRequest.risk, to: request.level, head: pullRequest.headSha },
  });
  const changed = await reread(tx, pullRequest);
  if (!isRaise && changed.state === 'hitl' && changed.stateReason === 'critical_risk')
    return ok({ pullRequest: changed });
  if (isRaise && request.level === 'critical') {
    await withdrawLandings(tx, pullRequest.id, 'risk_raised');
    await voidApprovals(tx, pullRequest, 'risk_raised');
  }
  return proceed(tx, changed, request);
}

function setRiskFault(
  pullRequest: PullRequest,
  request: { headSha: string; level: ChangeRisk; reason: string; hasFreshProof: boolean },
): Refused | undefined {
  if (pullRequest.closedAt !== null || pullRequest.state === 'landing')
    return wrongState(pullRequest, 'cannot get another risk now');
  if (pullRequest.headSha !== request.headSha) {
    return refuse(
      'wrong-state',
      'stale_head',
      `Pull request ${pullRequest.number} has another head now; look at that one.`,
      { head: pullRequest.headSha },
    );
  }
  const isLowering =
    pullRequest.risk !== null && riskOrder.indexOf(request.level) < riskOrder.indexOf(pullRequest.risk);
  if (isLowering && request.reason.trim() === '')
    return refuse('invalid', 'note_missing', `Say why the risk of pull request ${pullRequest.number} is lowered.`);
  if (isLowering && !request.hasFreshProof) {
    return refuse(
      'proof-required',
      'fresh_proof',
      `Lowering the risk of pull request ${pullRequest.number} needs the passphrase anew.`,
    );
  }
  return undefined;
}

async function reread(tx: Tx, pullRequest: PullRequest): Promise<PullRequest> {
  return (await readPullRequest(tx.db, pullRequest.id)) as PullRequest;
}
