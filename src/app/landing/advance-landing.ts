import { Fault, systemActor } from '../../kernel/index.ts';
import { baseTip, type Repository } from '../../forge/index.ts';
import {
  type Landing,
  type LandingRules,
  type PullRequest,
  readOpenLanding,
  startLanding,
  topologyOf,
  withdrawLanding,
} from '../../review/index.ts';
import { listAgents } from '../../ledger/index.ts';
import { done, failed, lookAgainIn, type PassOutcome } from '../../store/index.ts';
import { skipsRisk } from '../author/report-done.ts';
import type { AppContext } from '../context.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { buildAndOffer } from './build-and-offer.ts';
import { moveBase } from './move-base.ts';

const actor = systemActor('landing');

/**
 * Brings the landing of an approved pull request one step on (P3 `land`): a row first, then the candidate, its checks and the
 * offer to the human; after the yes the base is moved. Safe to repeat after a crash at any step.
 */
export async function advanceLanding(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<PassOutcome> {
  const synced = await syncBase(ctx, repository);
  if (!synced.ok) return failed(new Error(synced.refusal.message));
  const rules = await rulesOf(ctx, repository);
  const landing = await readOpenLanding(ctx.store.read, pullRequest.id);
  if (!landing) return begin(ctx, repository, pullRequest, rules);
  return step(ctx, repository, pullRequest, landing, rules);
}

/** What the configuration says of landing in this repository. */
export async function rulesOf(ctx: AppContext, repository: Repository): Promise<LandingRules> {
  const reviewers = await listAgents(ctx.store.read, { role: 'reviewer', activeOnly: true });
  const { checks } = repository.config;
  return {
    topology: topologyOf(reviewers),
    skipRiskAssessment: skipsRisk(ctx, repository),
    requiredChecks: checks === 'none' ? 'none' : checks.map((check) => check.name),
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
  // What blocks is lifted by an event of its own; the timer is for what no event tells.
  return started.ok ? lookAgainIn(0) : lookAgainIn(30_000);
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
      return buildAndOffer(ctx, repository, pullRequest, landing, rules);
    case 'offered': {
      const tip = await baseTip(ctx.forge, repository);
      if (tip === landing.baseTip) return done; // a human's turn
      const back = await ctx.store.tx((tx) =>
        withdrawLanding(tx, { landingId: landing.id, reason: 'base_moved', actor }),
      );
      return back.ok ? lookAgainIn(0) : done;
    }
    case 'prepared':
    case 'unknown':
      return moveBase(ctx, repository, pullRequest, landing);
    default:
      throw new Fault('landing_state', `Landing ${landing.id} is ${landing.state} and still open.`);
  }
}
