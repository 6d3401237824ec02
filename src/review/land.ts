import {
  type Actor,
  canonicalJson,
  type Json,
  type LandingId,
  newId,
  ok,
  refuse,
  type Result,
} from '../kernel/index.ts';
import { openDecision, refuseUnlessHuman, settleDecision, type Tx } from '../store/index.ts';
import { readApprovals } from './approvals.ts';
import type { Topology } from './choose-reviewer.ts';
import { readLandingFacts } from './landing-facts.ts';
import { type AutoLanding, type CheckResult, type Landing, landingsTopic } from './landing.ts';
import { autoLandingCovers, landingBlockers, lateBlockers } from './landing-blockers.ts';
import {
  holdLanding,
  isCleanLanding,
  landingState,
  listLandings,
  moveLanding,
  readLanding,
  readOpenLanding,
} from './landing-store.ts';
import type { PullRequest } from './pull-request.ts';
import { holdPullRequest, mustMove, unknownPullRequest } from './pull-request-store.ts';
import type { LandingRow } from './rows.ts';

/** What the configuration says of landing. */
export interface LandingRules {
  topology: Topology;
  skipRiskAssessment: boolean;
  requiredChecks: 'none' | readonly string[];
  missingOwners?: readonly string[];
  baseClosed?: string;
}

/**
 * Begins a try to land an approved pull request: its id goes into the candidate's trailer, so the row comes first. A try for the
 * same head that is being built or offered is given back (idempotent). Refuses `not-landed` with the first blocker.
 */
export async function startLanding(
  tx: Tx,
  request: {
    pullRequestId: string;
    mode: LandingRow['mode'];
    method: LandingRow['method'];
    rules: LandingRules;
    actor: Actor;
  },
): Promise<Result<Landing>> {
  const pullRequest = await holdPullRequest(tx, request.pullRequestId);
  if (!pullRequest) return unknownPullRequest(request.pullRequestId);
  const open = await readOpenLanding(tx.db, pullRequest.id);
  if (open) return ok(open);
  const facts = await readLandingFacts(tx.db, pullRequest, request.rules);
  const [first] = landingBlockers(facts).filter(({ code }) => !lateBlockers.includes(code));
  if (first) {
    return refuse('not-landed', first.code, `Pull request ${pullRequest.number} does not land: ${first.message}.`, {
      id: pullRequest.id,
      number: pullRequest.number,
    });
  }
  const id = newId<LandingId>();
  await tx.db
    .insertInto('landing')
    .values({
      id,
      pull_request_id: pullRequest.id,
      repository_id: pullRequest.repositoryId,
      mode: request.mode,
      method: request.method,
      state: 'building',
      expected_head: pullRequest.headSha,
      base_ref: pullRequest.baseRef,
      base_tip: null,
      candidate: null,
      tree: null,
      checks: '[]',
      effect: 'null',
      effect_digest: null,
      decision_id: null,
      accepted_by: null,
      accepted_at: null,
      landed_commit: null,
      aftermath: null,
      reason: null,
      unknown_reads: 0,
      is_clean: 0,
      created_at: tx.now,
      ended_at: null,
    })
    .execute();
  await tx.emit({
    kind: 'landing.started',
    actor: request.actor,
    subject: { kind: 'landing', id },
    ...(pullRequest.projectId === null ? {} : { projectId: pullRequest.projectId }),
    facts: {
      pull_request_id: pullRequest.id,
      number: pullRequest.number,
      head: pullRequest.headSha,
      mode: request.mode,
    },
  });
  tx.wake(landingsTopic, id);
  return ok((await readLanding(tx.db, id)) as Landing);
}

/** A candidate that was built and checked. */
export interface Candidate {
  landingId: string;
  /** Commit that would become the base's tip (or the reviewed branch's). */
  candidate: string;
  tree: string;
  /** Tip of the base on which it was built. */
  baseTip: string;
  checks: readonly CheckResult[];
  /** What the human is shown: diff figures, target, exact git effect. */
  effect: Json;
  /** Digest over what the effect changes, without ids of commits: the same again needs no second yes (P3). */
  effectDigest: string;
  rules: LandingRules;
  auto: AutoLanding;
  sandboxHolds: boolean;
  actor: Actor;
}

/**
 * Puts a checked candidate before the human, or accepts it where `land.auto` or an earlier yes to the same effect covers it; then the
 * landing is `prepared` and the base may be moved. Refuses `not-landed` with the first blocker (`checks_red`, `checks_missing`, …).
 */
export async function offerLanding(tx: Tx, offer: Candidate): Promise<Result<Landing>> {
  const found = await holdBoth(tx, offer.landingId);
  if (!found.ok) return found;
  const { landing, pullRequest } = found.value;
  if (landing.state === 'prepared' && landing.candidate === offer.candidate) return ok(landing);
  if (landing.state !== 'building' && landing.state !== 'offered') return landingState(landing, 'takes no candidate');
  const facts = await readLandingFacts(tx.db, pullRequest, offer.rules);
  const withCandidate = {
    ...facts,
    baseTip: offer.baseTip,
    candidate: { headSha: landing.expectedHead, baseTip: offer.baseTip, checks: offer.checks },
    auto: offer.auto,
    sandboxHolds: offer.sandboxHolds,
  };
  const blockers = landingBlockers(withCandidate);
  const [first] = blockers.filter(({ code }) => code !== 'yes_missing');
  if (first) {
    return refuse('not-landed', first.code, `Pull request ${pullRequest.number} does not land: ${first.message}.`, {
      id: landing.id,
      number: pullRequest.number,
    });
  }
  const set = {
    candidate: offer.candidate,
    tree: offer.tree,
    base_tip: offer.baseTip,
    checks: canonicalJson(offer.checks),
    effect: canonicalJson(offer.effect),
    effect_digest: offer.effectDigest,
  };
  const earlier = await earlierYes(tx, landing, offer.effectDigest);
  const acceptedBy = earlier ?? (autoLandingCovers(withCandidate) ? 'land.auto' : undefined);
  if (acceptedBy !== undefined) return prepare(tx, landing, pullRequest, { acceptedBy, actor: offer.actor, set });
  if (landing.state === 'offered' && landing.candidate === offer.candidate && landing.baseTip === offer.baseTip)
    return ok(landing);
  return ask(tx, landing, pullRequest, offer, set);
}

/** A human's yes to the same effect on the same head, whose landing only lost the race for the base. */
async function earlierYes(tx: Tx, landing: Landing, effectDigest: string): Promise<string | undefined> {
  const tries = await listLandings(tx.db, { pullRequestId: landing.pullRequestId });
  const [last] = tries.filter((one) => one.id !== landing.id);
  const isSame =
    last?.state === 'failed' &&
    last.reason === 'base_moved' &&
    last.expectedHead === landing.expectedHead &&
    last.effectDigest === effectDigest;
  return isSame && last.acceptedBy !== 'land.auto' ? (last.acceptedBy ?? undefined) : undefined;
}

async function ask(
  tx: Tx,
  landing: Landing,
  pullRequest: PullRequest,
  offer: Candidate,
  set: Partial<LandingRow>,
): Promise<Result<Landing>> {
  // A new candidate is a new question: the yes binds to what is shown.
  if (landing.state === 'offered')
    return landingState(landing, 'already waits for a yes to another candidate; withdraw it first');
  const approvals = await readApprovals(tx.db, pullRequest.id);
  const decisionId = await openDecision(tx, {
    kind: 'landing',
    subject: { kind: 'landing', id: landing.id },
    ...(pullRequest.projectId === null ? {} : { projectId: pullRequest.projectId }),
    title: `Land pull request ${pullRequest.number}: ${pullRequest.title}`,
    detail: {
      landingId: landing.id,
      pullRequestId: pullRequest.id,
      number: pullRequest.number,
      candidate: offer.candidate,
      base: offer.baseTip,
      head: landing.expectedHead,
      tree: offer.tree,
      checks: offer.checks.map((check) => ({ ...check })),
      noChecks: offer.rules.requiredChecks === 'none',
      effect: offer.effect,
      risk: pullRequest.risk,
      riskReasons: pullRequest.riskReasons.map((reason) => ({ ...reason, paths: [...reason.paths] })),
      needsHuman: pullRequest.needsHuman,
      approvals: approvals.map(({ reviewer, family, kind, isAdvisory }) => ({ reviewer, family, kind, isAdvisory })),
    },
  });
  const moved = await moveLanding(tx, landing, {
    to: 'offered',
    kind: 'landing.offered',
    actor: offer.actor,
    set: { ...set, decision_id: decisionId },
  });
  return 'ok' in moved ? moved : ok(moved);
}

async function prepare(
  tx: Tx,
  landing: Landing,
  pullRequest: PullRequest,
  yes: { acceptedBy: string; actor: Actor; set: Partial<LandingRow> },
): Promise<Result<Landing>> {
  const moved = await moveLanding(tx, landing, {
    to: 'prepared',
    kind: 'landing.prepared',
    actor: yes.actor,
    set: {
      ...yes.set,
      accepted_by: yes.acceptedBy,
      accepted_at: tx.now,
      is_clean: (await isCleanLanding(tx, pullRequest, yes.acceptedBy)) ? 1 : 0,
    },
  });
  if ('ok' in moved) return moved;
  await mustMove(tx, pullRequest, { to: 'landing', reason: 'accepted', actor: yes.actor });
  return ok(moved);
}

/** What a human says yes to: exactly this candidate, on this base, for this head. */
export interface LandingYes {
  landingId: string;
  candidate: string;
  baseTip: string;
  headSha: string;
  actor: Actor;
}

/**
 * A human's yes (design 6 "What may land"). It binds to candidate, base and head as shown: anything else refuses `stale_candidate` or
 * `stale_head`. Refuses `human_only`, `unknown_landing`, `landing_state`.
 */
export async function acceptLanding(tx: Tx, yes: LandingYes): Promise<Result<Landing>> {
  const notHuman = refuseUnlessHuman({
    actor: yes.actor,
    act: 'accept_landing',
    subject: { kind: 'landing', id: yes.landingId },
  });
  if (notHuman) return notHuman;
  const found = await holdBoth(tx, yes.landingId);
  if (!found.ok) return found;
  const { landing, pullRequest } = found.value;
  if (landing.expectedHead !== yes.headSha || pullRequest.headSha !== yes.headSha) {
    return refuse(
      'wrong-state',
      'stale_head',
      `Pull request ${pullRequest.number} has head ${pullRequest.headSha}; look at that one and decide again.`,
      { head: pullRequest.headSha },
    );
  }
  if (landing.candidate !== yes.candidate || landing.baseTip !== yes.baseTip) {
    return refuse(
      'wrong-state',
      'stale_candidate',
      `Landing ${landing.id} has another candidate now; look at it and decide again.`,
      { candidate: landing.candidate, base: landing.baseTip },
    );
  }
  if (landing.state === 'prepared') return ok(landing);
  if (landing.state !== 'offered') return landingState(landing, 'does not wait for a yes');
  if (landing.decisionId !== null)
    await settleDecision(tx, landing.decisionId, { outcome: 'approved', actor: yes.actor });
  return prepare(tx, landing, pullRequest, { acceptedBy: yes.actor.id, actor: yes.actor, set: {} });
}

/** Landing and pull request, both held, the pull request first. */
export async function holdBoth(
  tx: Tx,
  landingId: string,
): Promise<Result<{ landing: Landing; pullRequest: PullRequest }>> {
  const known = await readLanding(tx.db, landingId);
  const pullRequest = known && (await holdPullRequest(tx, known.pullRequestId));
  const landing = known && (await holdLanding(tx, landingId));
  if (!landing || !pullRequest)
    return refuse('not-found', 'unknown_landing', `unknown id ${landingId}`, { id: landingId });
  return ok({ landing, pullRequest });
}
