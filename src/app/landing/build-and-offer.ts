import { digestOf, systemActor } from '../../kernel/index.ts';
import {
  buildCandidate,
  type Candidate,
  changedFiles,
  type CheckReport,
  patchIdOf,
  type Repository,
} from '../../forge/index.ts';
import {
  finishLanding,
  type Landing,
  type LandingFailure,
  type LandingRules,
  offerLanding,
  type PullRequest,
} from '../../review/index.ts';
import { done, failed, lookAgainIn, type PassOutcome } from '../../store/index.ts';
import { authorIdentity } from '../workspace/open-author-folder.ts';
import type { AppContext } from '../context.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { humansOf } from '../review/submit-review.ts';
import { blameOf, checkCandidate } from './check-candidate.ts';
import { describeEffect } from './describe-effect.ts';

const actor = systemActor('landing');

/** The end of a failing check's output that goes back to the author. */
const logTail = 6_000;

/** How long the next try waits when the machine was at fault. */
const retryAfterMs = 30_000;

/** Takes in the operator's base, builds the candidate, runs the base's checks on it in the sandbox, and puts it before the human (design section 6 "What may land"). */
export async function buildAndOffer(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
  rules: LandingRules,
): Promise<PassOutcome> {
  const synced = await syncBase(ctx, repository);
  if (!synced.ok) return fail(ctx, repository, landing, whyNotRead(synced.refusal.code), synced.refusal.message);
  const candidate = await buildCandidate(ctx.forge, repository, {
    landingId: landing.id,
    head: landing.expectedHead,
    method: landing.method === 'merge' ? 'merge' : 'squash',
    message: messageOf(pullRequest),
    author: authorIdentity(pullRequest.author),
    dateMs: landing.createdAt,
  });
  if (!candidate.ok)
    return fail(ctx, repository, landing, failureOf(candidate.refusal.code), candidate.refusal.message);
  const checked = await checkCandidate(ctx, repository, candidate.value, landing);
  if (!checked.ok) {
    const reason = await blameOf(ctx, repository, candidate.value, landing, checked.refusal);
    return fail(ctx, repository, landing, reason, checked.refusal.message);
  }
  const report = checked.value;
  const red = report.results.filter((result) => result.status === 'failed' || result.status === 'timed-out');
  if (red.length > 0) {
    const names = red.map(
      (result) => `${result.name} (${result.status}${result.exitCode === null ? '' : `, exit ${result.exitCode}`})`,
    );
    return fail(
      ctx,
      repository,
      landing,
      'checks_failed',
      `Red on the candidate: ${names.join(', ')}.`,
      red
        .map((result) => result.tail)
        .join('\n')
        .slice(-logTail),
    );
  }
  return offer(ctx, repository, landing, rules, candidate.value, report);
}

async function offer(
  ctx: AppContext,
  repository: Repository,
  landing: Landing,
  rules: LandingRules,
  candidate: Candidate,
  report: CheckReport,
): Promise<PassOutcome> {
  const change = await changedFiles(ctx.forge, repository, candidate.baseTip, candidate.commit);
  const patchId = await patchIdOf(ctx.forge, repository, candidate.baseTip, candidate.commit);
  const effect = describeEffect(repository, candidate, change);
  const offered = await ctx.store.tx((tx) =>
    offerLanding(tx, {
      landingId: landing.id,
      candidate: candidate.commit,
      tree: candidate.tree,
      baseTip: candidate.baseTip,
      checks: report.results.map(({ name, status, logPath }) => ({
        name,
        status,
        ...(logPath === undefined ? {} : { logPath }),
      })),
      effect,
      effectDigest: digestOf({ mode: landing.mode, base: repository.base, patchId: patchId ?? candidate.tree }),
      rules,
      auto: repository.config.land?.auto ?? (ctx.config.get('land.auto') as 'none' | 'low' | 'medium'),
      sandboxHolds: ctx.barrier.sandbox?.holds === true,
      actor,
    }),
  );
  if (!offered.ok) return fail(ctx, repository, landing, 'refused', offered.refusal.message);
  return offered.value.state === 'prepared' ? lookAgainIn(0) : done;
}

async function fail(
  ctx: AppContext,
  repository: Repository,
  landing: Landing,
  reason: LandingFailure,
  summary: string,
  log?: string,
): Promise<PassOutcome> {
  const humans = await humansOf(ctx, repository.config.review?.humans);
  const detail = { summary, ...(log === undefined ? {} : { log }) };
  const finished = await ctx.store.tx((tx) =>
    finishLanding(tx, { landingId: landing.id, outcome: { kind: 'failed', reason, detail }, humans, actor }),
  );
  return finished.ok ? lookAgainIn(reason === 'error' ? retryAfterMs : 0) : failed(new Error(finished.refusal.message));
}

/** A base that moved under the import is read again; a checkout or branch that is gone takes a human. */
function whyNotRead(code: string): LandingFailure {
  return code === 'base_moved' ? 'base_moved' : 'refused';
}

function failureOf(code: string): LandingFailure {
  if (code === 'merge_conflict') return 'conflict';
  return 'refused'; // nothing_to_land, forged_trailer: only a human can go on
}

/** The commit's message: the title, and what the author said of it. */
function messageOf(pullRequest: PullRequest): string {
  const body = pullRequest.body.trim();
  return body === '' || body === pullRequest.title ? `${pullRequest.title}\n` : `${pullRequest.title}\n\n${body}\n`;
}
