import { type Actor, canonicalJson, type Json, ok, refuse, type Result } from '../kernel/index.ts';
import { openDecision, type Tx } from '../store/index.ts';
import { endClaim } from './claim-store.ts';
import { withdrawLandings } from './landing-store.ts';
import type { PullRequest } from './pull-request.ts';
import {
  holdPullRequest,
  mustMove,
  readContributors,
  readPullRequest,
  unknownPullRequest,
  wrongState,
} from './pull-request-store.ts';

/** A pull request that humans have to look at. */
export interface HumanReview {
  /** Epoch ms of the first time. */
  hitlAt: number;
  reviewers: readonly string[];
  /** False when it already was in human review. */
  isNew: boolean;
}

/**
 * Hands a pull request to humans (R-22, P3 `hitl`): nothing happens when no human is configured; else the time is kept, claims
 * end, the app stops reviewer and author, and a decision opens. Called again it gives the first time.
 */
export async function enterHumanReview(
  tx: Tx,
  request: { pullRequestId: string; reason: string; humans: readonly string[]; detail?: Json; actor: Actor },
): Promise<Result<HumanReview>> {
  const pullRequest = await holdPullRequest(tx, request.pullRequestId);
  if (!pullRequest) return unknownPullRequest(request.pullRequestId);
  return toHumans(tx, pullRequest, request);
}

/** As `enterHumanReview`, for a pull request that is held already. */
export async function toHumans(
  tx: Tx,
  pullRequest: PullRequest,
  request: { reason: string; humans: readonly string[]; detail?: Json; actor: Actor },
): Promise<Result<HumanReview>> {
  if (pullRequest.state === 'hitl')
    return ok({ hitlAt: pullRequest.hitlAt ?? tx.now, reviewers: pullRequest.hitlReviewers, isNew: false });
  const contributors = await readContributors(tx.db, pullRequest.id);
  const isAuthor = (human: string): boolean =>
    contributors.some(({ kind, contributor }) => kind === 'operator' && contributor === human);
  const others = request.humans.filter((human) => !isAuthor(human));
  const reviewers = others.length > 0 ? others : request.humans;
  if (reviewers.length === 0) {
    return refuse('invalid', 'no_reviewers_configured', 'No reviewers configured for HITL', {
      number: pullRequest.number,
    });
  }
  if (pullRequest.closedAt !== null) return wrongState(pullRequest, 'needs no review any more');
  const hitlAt = pullRequest.hitlAt ?? tx.now;
  await endClaim(tx, pullRequest.id, { state: 'released', reason: 'human_review', actor: request.actor });
  await withdrawLandings(tx, pullRequest.id, 'human_review');
  await mustMove(tx, pullRequest, {
    to: 'hitl',
    reason: request.reason,
    actor: request.actor,
    set: { hitl_at: hitlAt, hitl_reviewers: canonicalJson(reviewers) },
  });
  await openDecision(tx, {
    kind: 'human_review',
    subject: { kind: 'pull-request', id: pullRequest.id },
    ...(pullRequest.projectId === null ? {} : { projectId: pullRequest.projectId }),
    title: `Pull request ${pullRequest.number} needs a human: ${pullRequest.title}`,
    detail: {
      pullRequestId: pullRequest.id,
      number: pullRequest.number,
      head: pullRequest.headSha,
      reason: request.reason,
      risk: pullRequest.risk,
      riskReasons: pullRequest.riskReasons.map((reason) => ({ ...reason, paths: [...reason.paths] })),
      reviewers: [...reviewers],
      rounds: pullRequest.rounds,
      ...(request.detail === undefined ? {} : { about: request.detail }),
    },
  });
  await tx.emit({
    kind: 'pull-request.human-review',
    actor: request.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { reason: request.reason, number: pullRequest.number, reviewers: [...reviewers] },
  });
  return ok({ hitlAt, reviewers, isNew: true });
}

/**
 * As `toHumans`. Where no human is configured the pull request is held with the reason instead, so that no loop goes on
 * with it; a human lets it go on. Only for states that may be held.
 */
export async function askHumansOrHold(
  tx: Tx,
  pullRequest: PullRequest,
  request: Parameters<typeof toHumans>[2],
): Promise<PullRequest> {
  const asked = await toHumans(tx, pullRequest, request);
  if (!asked.ok) {
    await withdrawLandings(tx, pullRequest.id, 'held');
    return mustMove(tx, pullRequest, { to: 'held', reason: request.reason, actor: request.actor });
  }
  return (await readPullRequest(tx.db, pullRequest.id)) as PullRequest;
}
