import { Fault, systemActor } from '../../kernel/index.ts';
import { baseTip, type Repository, verifyLanding } from '../../forge/index.ts';
import {
  type Landing,
  type LandingRules,
  type PullRequest,
  readOpenLanding,
  resolveBlocked,
  startLanding,
  topologyOf,
  withdrawLanding,
} from '../../review/index.ts';
import { listAgents } from '../../ledger/index.ts';
import { done, failed, lookAgainIn, type PassOutcome } from '../../store/index.ts';
import { skipsRisk } from '../author/report-done.ts';
import type { AppContext } from '../context.ts';
import { humansOf } from '../review/submit-review.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { buildAndOffer } from './build-and-offer.ts';
import { isBaseFrozen } from './freeze-base.ts';
import { moveBase } from './move-base.ts';

const actor = systemActor('landing');

/**
 * Brings the landing of an approved pull request one step on (P3 `land`): a row first, then the candidate, its checks and the
 * offer to the human; after the yes the base is moved. What cannot land goes to whom it waits for. Safe to repeat after a
 * crash at any step.
 */
export async function advanceLanding(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<PassOutcome> {
  const rules = await rulesOf(ctx, repository);
  const landing = await readOpenLanding(ctx.store.read, pullRequest.id);
  if (!landing) return begin(ctx, repository, pullRequest, rules);
  return step(ctx, repository, pullRequest, landing, rules);
}

/** What the configuration says of landing in this repository. */
export async function rulesOf(ctx: AppContext, repository: Repository): Promise<LandingRules> {
  const reviewers = await listAgents(ctx.store.read, { role: 'reviewer', activeOnly: true });
  const { checks } = repository.config;
  const isFrozen = await isBaseFrozen(ctx.store.read, repository.id);
  return {
    topology: topologyOf(reviewers),
    skipRiskAssessment: skipsRisk(ctx, repository),
    requiredChecks: checks === 'none' ? 'none' : checks.map((check) => check.name),
    ...(isFrozen ? { baseClosed: 'a landed tree is no honest merge; a human looks at that first' } : {}),
  };
}

async function begin(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  rules: LandingRules,
): Promise<PassOutcome> {
  const mode = repository.mode === 'base' ? ('base' as const) : ('branch' as const);
  const method = repository.config.land?.method ?? 'squash';
  const started = await ctx.store.tx((tx) =>
    startLanding(tx, { pullRequestId: pullRequest.id, mode, method, rules, actor }),
  );
  if (started.ok) return lookAgainIn(0);
  const { code, message } = started.refusal;
  const humans = await humansOf(ctx, repository.config.review?.humans);
  const blocked = { pullRequestId: pullRequest.id, code, message, humans, actor };
  const resolved = await ctx.store.tx((tx) => resolveBlocked(tx, blocked));
  if (!resolved.ok) return failed(new Error(resolved.refusal.message));
  // A closed base opens by a human's answer; the timer is for what no event tells.
  return lookAgainIn(resolved.value.state === pullRequest.state ? 30_000 : 0);
}

async function step(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
  rules: LandingRules,
): Promise<PassOutcome> {
  switch (landing.state) {
    case 'building':
      if (rules.baseClosed !== undefined) return lookAgainIn(30_000);
      return buildAndOffer(ctx, repository, pullRequest, landing, rules);
    case 'offered': {
      const tip = await baseTip(ctx.forge, repository);
      if (tip === landing.baseTip) return done; // a human's turn
      const back = await ctx.store.tx((tx) =>
        withdrawLanding(tx, { landingId: landing.id, reason: 'base_moved', actor }),
      );
      return back.ok ? lookAgainIn(0) : done;
    }
    case 'prepared': {
      if (await mustWait(ctx, repository, landing, rules)) return lookAgainIn(30_000);
      // A base that the operator moved lets the compare-and-set fail; one that cannot be read is told at the next candidate.
      const synced = await syncBase(ctx, repository);
      if (!synced.ok) ctx.log.warn({ code: synced.refusal.code }, 'the base of a checkout cannot be read');
      return moveBase(ctx, repository, pullRequest, landing);
    }
    case 'unknown':
      return moveBase(ctx, repository, pullRequest, landing);
    default:
      throw new Fault('landing_state', `Landing ${landing.id} is ${landing.state} and still open.`);
  }
}

/** Whether an accepted candidate has to wait for a frozen base; one that is on it already is only written down. */
async function mustWait(
  ctx: AppContext,
  repository: Repository,
  landing: Landing,
  rules: LandingRules,
): Promise<boolean> {
  if (rules.baseClosed === undefined || landing.mode !== 'base' || landing.candidate === null) return false;
  const candidate = { commit: landing.candidate, head: landing.expectedHead };
  return !(await verifyLanding(ctx.forge, repository, candidate)).isLanded;
}
