import { type Actor, type Json, ok, refuse, type Result } from '../kernel/index.ts';
import { refuseUnlessHuman, settleDecision, type Tx, voidDecisions } from '../store/index.ts';
import { voidApprovals } from './approvals.ts';
import { queueFeedback, supersedeFeedback } from './feedback.ts';
import { askHumansOrHold, toHumans } from './human-review.ts';
import { holdBoth } from './land.ts';
import { type Landing, maxLandingErrors, maxUnknownReads } from './landing.ts';
import { landingState, listLandings, moveLanding } from './landing-store.ts';
import type { PullRequest } from './pull-request.ts';
import { mustMove, readPullRequest } from './pull-request-store.ts';
import { settleRevert } from './request-revert.ts';
import { countRound } from './rounds.ts';

/** How a try to land ended. `detail` of `checks_failed` and `conflict` goes to the author: `{summary, log}`. */
export type LandingOutcome =
  | { kind: 'landed'; commit: string }
  | { kind: 'failed'; reason: LandingFailure; detail?: Json }
  /** Nobody saw the outcome: it is looked up again, never tried again blindly. */
  | { kind: 'unknown' };

/**
 * `base_moved`: a new candidate is needed. `head_moved`: the approval is void. `conflict`, `checks_failed`: back to the author, a round.
 * `refused`: only a human can go on. `error`: nothing was changed; try again, three times for one head, then a human looks.
 */
export type LandingFailure = 'base_moved' | 'head_moved' | 'conflict' | 'checks_failed' | 'refused' | 'error';

/** What the end of a landing means for the rest. */
export interface FinishedLanding {
  landing: Landing;
  pullRequest: PullRequest;
}

/**
 * Records the outcome (P3 `land`). The caller closes the task of a landed change in the same transaction. The same outcome again
 * changes nothing. Refuses `unknown_landing`, `landing_state`.
 */
export async function finishLanding(
  tx: Tx,
  end: { landingId: string; outcome: LandingOutcome; humans: readonly string[]; actor: Actor },
): Promise<Result<FinishedLanding>> {
  const found = await holdBoth(tx, end.landingId);
  if (!found.ok) return found;
  const { landing, pullRequest } = found.value;
  const { outcome } = end;
  if (outcome.kind === 'landed') {
    if (landing.state === 'landed' && landing.landedCommit === outcome.commit) return ok({ landing, pullRequest });
    return recordLanded(tx, landing, pullRequest, outcome.commit, end.actor);
  }
  if (outcome.kind === 'unknown') return recordUnknown(tx, landing, pullRequest, end);
  if (landing.state === 'failed' && landing.reason === outcome.reason) return ok({ landing, pullRequest });
  return recordFailed(tx, landing, pullRequest, { ...end, outcome });
}

async function recordLanded(
  tx: Tx,
  landing: Landing,
  pullRequest: PullRequest,
  commit: string,
  actor: Actor,
): Promise<Result<FinishedLanding>> {
  if (landing.state !== 'prepared' && landing.state !== 'unknown')
    return landingState(landing, 'was not accepted, so it cannot have landed');
  const moved = await moveLanding(tx, landing, {
    to: 'landed',
    kind: 'landing.landed',
    actor,
    set: { landed_commit: commit },
  });
  if ('ok' in moved) return moved;
  await supersedeFeedback(tx, pullRequest.id);
  await voidDecisions(tx, { subjectId: pullRequest.id }, 'landed');
  // A human may have been asked about an unknown outcome.
  const current =
    pullRequest.state === 'hitl'
      ? await mustMove(tx, pullRequest, { to: 'approved', reason: 'outcome_known', actor })
      : pullRequest;
  const landing_ =
    current.state === 'approved'
      ? await mustMove(tx, current, { to: 'landing', reason: 'outcome_known', actor })
      : current;
  const merged = await mustMove(tx, landing_, { to: 'merged', reason: 'landed', actor });
  if (pullRequest.revertOf !== null) await settleRevert(tx, pullRequest.id, 'landed');
  return ok({ landing: moved, pullRequest: merged });
}

async function recordUnknown(
  tx: Tx,
  landing: Landing,
  pullRequest: PullRequest,
  end: { humans: readonly string[]; actor: Actor },
): Promise<Result<FinishedLanding>> {
  const reads = landing.unknownReads + 1;
  const moved = await moveLanding(tx, landing, {
    to: 'unknown',
    kind: 'landing.unknown',
    actor: end.actor,
    set: { unknown_reads: reads },
  });
  if ('ok' in moved) return moved;
  if (reads >= maxUnknownReads) {
    const detail = { landingId: landing.id, candidate: landing.candidate };
    await toHumans(tx, pullRequest, { reason: 'landing_unknown', humans: end.humans, detail, actor: end.actor });
  }
  return finished(tx, moved);
}

async function recordFailed(
  tx: Tx,
  landing: Landing,
  pullRequest: PullRequest,
  end: { outcome: { reason: LandingFailure; detail?: Json }; humans: readonly string[]; actor: Actor },
): Promise<Result<FinishedLanding>> {
  const { reason, detail } = end.outcome;
  const moved = await moveLanding(tx, landing, { to: 'failed', kind: 'landing.failed', actor: end.actor, reason });
  if ('ok' in moved) return moved;
  await voidDecisions(tx, { subjectId: landing.id, kind: 'landing' }, reason);
  if (pullRequest.state !== 'landing' && pullRequest.state !== 'approved' && pullRequest.state !== 'queued')
    return finished(tx, moved);
  const { humans, actor } = end;
  if (reason === 'refused' || (reason === 'error' && (await errorsOf(tx, landing)) >= maxLandingErrors)) {
    if (pullRequest.state === 'landing') await mustMove(tx, pullRequest, { to: 'approved', reason, actor });
    const back = (await readPullRequest(tx.db, pullRequest.id)) as PullRequest;
    const about = detail === undefined ? {} : { detail };
    await askHumansOrHold(tx, back, { reason: `landing_${reason}`, humans, ...about, actor });
  } else if (reason === 'head_moved') {
    await voidApprovals(tx, pullRequest, 'head_moved');
    await mustMove(tx, pullRequest, {
      to: 'awaiting_risk',
      reason,
      actor,
      set: { risk: null, risk_reasons: '[]', files: '[]' },
    });
  } else if (reason === 'conflict' || reason === 'checks_failed') {
    const source = reason === 'conflict' ? 'conflict' : 'checks';
    await queueFeedback(tx, pullRequest, { source, id: landing.id, content: detail ?? null, actor });
    await countRound(tx, pullRequest, { reason, humans, actor });
  } else if (pullRequest.state !== 'approved') await mustMove(tx, pullRequest, { to: 'approved', reason, actor });
  return finished(tx, moved);
}

/** Tries for the head of this one that ended by the machine's fault. */
async function errorsOf(tx: Tx, landing: Landing): Promise<number> {
  const tries = await listLandings(tx.db, { pullRequestId: landing.pullRequestId, states: ['failed'] });
  return tries.filter((one) => one.reason === 'error' && one.expectedHead === landing.expectedHead).length;
}

/**
 * A human's no to an offered candidate. With a note the author gets it as feedback (no round, the count is set back); without one
 * the pull request is held. Refuses `human_only`, `unknown_landing`, `landing_state`.
 */
export async function declineLanding(
  tx: Tx,
  no: { landingId: string; note?: string; actor: Actor },
): Promise<Result<FinishedLanding>> {
  const notHuman = refuseUnlessHuman({
    actor: no.actor,
    act: 'decline_landing',
    subject: { kind: 'landing', id: no.landingId },
  });
  if (notHuman) return notHuman;
  const found = await holdBoth(tx, no.landingId);
  if (!found.ok) return found;
  const { landing, pullRequest } = found.value;
  if (landing.state !== 'offered') return landingState(landing, 'does not wait for an answer');
  const moved = await moveLanding(tx, landing, {
    to: 'withdrawn',
    kind: 'landing.withdrawn',
    actor: no.actor,
    reason: 'declined',
  });
  if ('ok' in moved) return moved;
  if (landing.decisionId !== null)
    await settleDecision(tx, landing.decisionId, { outcome: 'refused', actor: no.actor });
  const note = no.note?.trim() ?? '';
  if (note === '') {
    await mustMove(tx, pullRequest, { to: 'held', reason: 'landing_declined', actor: no.actor });
    return finished(tx, moved);
  }
  await voidApprovals(tx, pullRequest, 'landing_declined');
  await queueFeedback(tx, pullRequest, {
    source: 'human',
    id: landing.id,
    content: { summary: note, by: no.actor.id },
    actor: no.actor,
  });
  await mustMove(tx, pullRequest, {
    to: 'changes_requested',
    reason: 'landing_declined',
    actor: no.actor,
    set: { rounds: 0 },
  });
  return finished(tx, moved);
}

/** Takes an offered or unfinished candidate back because its base moved; the pull request stays approved and another is built. */
export async function withdrawLanding(
  tx: Tx,
  back: { landingId: string; reason: string; actor: Actor },
): Promise<Result<Landing>> {
  const found = await holdBoth(tx, back.landingId);
  if (!found.ok) return found;
  const { landing } = found.value;
  if (landing.state === 'withdrawn') return ok(landing);
  if (landing.state !== 'building' && landing.state !== 'offered') return landingState(landing, 'cannot be withdrawn');
  const moved = await moveLanding(tx, landing, {
    to: 'withdrawn',
    kind: 'landing.withdrawn',
    actor: back.actor,
    reason: back.reason,
  });
  if ('ok' in moved) return moved;
  await voidDecisions(tx, { subjectId: landing.id, kind: 'landing' }, back.reason);
  return ok(moved);
}

async function finished(tx: Tx, landing: Landing): Promise<Result<FinishedLanding>> {
  const pullRequest = await readPullRequest(tx.db, landing.pullRequestId);
  return pullRequest
    ? ok({ landing, pullRequest })
    : refuse('not-found', 'unknown_pull_request', `unknown id ${landing.pullRequestId}`);
}
