import { toRfc3339 } from '../../kernel/index.ts';
import { changedFiles, lastChecksOf, type Repository, repositoryById } from '../../forge/index.ts';
import { makeVisible } from '../../gate/index.ts';
import {
  type Landing,
  landingBlockers,
  listVerdicts,
  type PullRequest,
  readLandingFacts,
  readLiveClaim,
  readOpenLanding,
  listLandings,
  type Verdict,
} from '../../review/index.ts';
import { readSpending, readTaskEstimate } from '../../spending/index.ts';
import type { DiffView, LandingView, PullRequestView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import type { Aftermath } from '../landing/after-landing.ts';
import { rulesOf } from '../landing/advance-landing.ts';
import { estimateView, spendingView } from '../spending/views.ts';
import { momentOf } from '../work/views.ts';
import { readFilePatches } from './file-patches.ts';
import { readTail } from './read-tail.ts';
import { visibleLine, visiblePatch } from './visible-patch.ts';

const states: Readonly<Record<PullRequest['state'], PullRequestView['state']>> = {
  awaiting_risk: 'open',
  awaiting_reviewer: 'open',
  reviewing: 'in-review',
  changes_requested: 'changes-requested',
  approved: 'approved',
  queued: 'landing',
  landing: 'landing',
  merged: 'landed',
  hitl: 'human-review',
  held: 'human-review',
  closed: 'closed',
  restarted: 'closed',
};

/** The states that a client sees as this one. */
export function domainStatesOf(state: string): PullRequest['state'][] {
  return (Object.keys(states) as PullRequest['state'][]).filter((one) => states[one] === state);
}

const landingStates: Readonly<Record<Landing['state'], LandingView['state']>> = {
  building: 'checking',
  offered: 'waiting',
  prepared: 'landing',
  unknown: 'landing',
  landed: 'landed',
  failed: 'failed',
  withdrawn: 'refused',
};

/** A pull request as a client sees it, with what it waits for in one sentence. */
export async function pullRequestView(ctx: AppContext, pullRequest: PullRequest): Promise<PullRequestView> {
  const db = ctx.store.read;
  const repository = await repositoryById(db, pullRequest.repositoryId);
  const verdicts = await listVerdicts(db, pullRequest.id);
  const claim = await readLiveClaim(db, { pullRequestId: pullRequest.id });
  const landing =
    (await readOpenLanding(db, pullRequest.id)) ??
    (await listLandings(db, { pullRequestId: pullRequest.id, limit: 1 }))[0];
  const decision = await db
    .selectFrom('decision_request')
    .select('id')
    .where('state', '=', 'open')
    .where('subject_id', 'in', [pullRequest.id, landing?.id ?? ''])
    .limit(1)
    .executeTakeFirst();
  return {
    id: pullRequest.id,
    number: pullRequest.number,
    repositoryId: pullRequest.repositoryId,
    repository: repository?.name ?? pullRequest.repositoryId,
    taskId: pullRequest.taskId,
    title: visibleLine(pullRequest.title),
    body: makeVisible(pullRequest.body),
    author: pullRequest.author,
    branch: pullRequest.branch,
    base: pullRequest.baseRef,
    headCommit: pullRequest.headSha,
    baseCommit: pullRequest.baseSha,
    state: states[pullRequest.state],
    risk: pullRequest.risk,
    riskReasons: pullRequest.riskReasons.map((reason) => makeVisible(reason.message)),
    round: pullRequest.rounds,
    maxRounds: pullRequest.maxRounds,
    reviewer: claim?.reviewer ?? null,
    verdicts: verdicts.map((verdict) => verdictView(verdict, pullRequest)),
    checks: landing ? await checkViews(ctx, landing) : [],
    waitsFor: repository ? await waitsFor(ctx, repository, pullRequest, landing) : null,
    landingId: landing?.id ?? null,
    decisionId: decision?.id ?? null,
    spending: spendingView(
      await readSpending(db, { change: { pullRequestId: pullRequest.id, taskId: pullRequest.taskId } }),
    ),
    estimate: estimateView(await readTaskEstimate(db, pullRequest.taskId)),
    createdAt: toRfc3339(pullRequest.createdAt),
    updatedAt: toRfc3339(pullRequest.updatedAt),
  };
}

async function waitsFor(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing | undefined,
): Promise<string | null> {
  switch (pullRequest.state) {
    case 'merged':
      return null;
    case 'awaiting_risk':
      return 'its risk is being judged';
    case 'awaiting_reviewer':
      return 'a reviewer of another family';
    case 'reviewing':
      return 'the reviewer’s verdict';
    case 'changes_requested':
      return 'its author, who mends what was found';
    case 'hitl':
    case 'held':
      return `a human: ${pullRequest.stateReason.replaceAll('_', ' ')}`;
    case 'landing':
      return 'the base to be moved';
    case 'approved': {
      if (landing?.state === 'offered') return 'a human’s yes to land it';
      if (landing?.state === 'building') return 'its candidate to be built and checked';
      const facts = await readLandingFacts(ctx.store.read, pullRequest, await rulesOf(ctx, repository));
      return landingBlockers(facts)[0]?.message ?? 'its candidate to be built';
    }
    default:
      return pullRequest.stateReason.replaceAll('_', ' ');
  }
}

function verdictView(verdict: Verdict, pullRequest: PullRequest): PullRequestView['verdicts'][number] {
  return {
    id: verdict.id,
    reviewer: verdict.reviewer,
    family: verdict.family,
    verdict: verdict.decision,
    summary: makeVisible(verdict.summary),
    findings: verdict.findings.map(({ file, line, text, scenario, isBlocking }) => ({
      file: visibleOrNull(file),
      line,
      text: makeVisible(text),
      scenario: visibleOrNull(scenario),
      isBlocking,
    })),
    headCommit: verdict.headSha,
    isBinding: !verdict.isAdvisory && verdict.effect === 'applied' && verdict.headSha === pullRequest.headSha,
    createdAt: toRfc3339(verdict.createdAt),
  };
}

/** The end of a check's log that a client gets. */
const tailBytes = 8_192;

/** As they were recorded, those of a landing that failed too; a check that ran nothing (damaged pointers) has neither number. */
async function checkViews(ctx: AppContext, landing: Landing): Promise<PullRequestView['checks']> {
  const recorded = await lastChecksOf(ctx.store.read, landing.id);
  const bare = landing.checks.map(({ name, status, logPath }) => ({
    name,
    status,
    logPath,
    exitCode: null,
    durationMs: null,
  }));
  return Promise.all(
    (recorded.length > 0 ? recorded : bare).map(async ({ name, status, exitCode, durationMs, logPath }) => ({
      name,
      status,
      exitCode,
      durationMs: status === 'skipped' ? null : durationMs,
      outputTail: logPath === undefined ? null : visibleOrNull(await readTail(logPath, tailBytes)),
    })),
  );
}

export async function landingView(ctx: AppContext, landing: Landing): Promise<LandingView> {
  const change = await ctx.store.read
    .selectFrom('pull_request')
    .select('number')
    .where('id', '=', landing.pullRequestId)
    .executeTakeFirstOrThrow();
  const aftermath = landing.aftermath as unknown as Aftermath | null;
  return {
    id: landing.id,
    pullRequest: change.number,
    repositoryId: landing.repositoryId,
    mode: landing.mode,
    method: landing.method,
    state: landingStates[landing.state],
    candidateCommit: landing.candidate,
    baseBefore: landing.baseTip,
    commit: landing.landedCommit,
    checks: await checkViews(ctx, landing),
    checkout: aftermath?.checkout ?? null,
    commands: aftermath?.commands ?? [],
    message: messageOf(landing, aftermath),
    landedBy: landing.acceptedBy,
    createdAt: toRfc3339(landing.createdAt),
    endedAt: momentOf(landing.endedAt),
  };
}

function messageOf(landing: Landing, aftermath: Aftermath | null): string {
  if (landing.state === 'landed' && landing.mode === 'branch') {
    return `The reviewed change is branch ${aftermath?.branch ?? ''} of the local forge; these commands bring it to your remote.`;
  }
  if (landing.state === 'landed')
    return `Landed as ${landing.landedCommit?.slice(0, 12)}. ${aftermath?.checkout?.message ?? ''}`.trim();
  if (landing.state === 'offered') return 'Waits for a human’s yes.';
  return landing.reason ? `${landing.state}: ${landing.reason.replaceAll('_', ' ')}` : landing.state;
}

/** The change as it is reviewed, file by file; texts of the change come with everything invisible written out. */
export async function diffView(ctx: AppContext, repository: Repository, pullRequest: PullRequest): Promise<DiffView> {
  const { baseSha, headSha } = pullRequest;
  const { files } = await changedFiles(ctx.forge, repository, baseSha, headSha);
  const patches = await readFilePatches(ctx, repository, { base: baseSha, head: headSha, files });
  const human = new Map(
    pullRequest.riskReasons
      .filter((reason) => reason.needsHuman)
      .flatMap((reason) => reason.paths.map((path) => [path, reason.message] as const)),
  );
  const hidden = patches.filter((patch) => patch.notShown !== null).length;
  return {
    number: pullRequest.number,
    baseCommit: baseSha,
    headCommit: headSha,
    files: patches.map(({ file, text, notShown }) => ({
      path: visibleLine(file.path),
      oldPath: file.oldPath === undefined ? null : visibleLine(file.oldPath),
      status: file.status,
      added: file.added ?? null,
      removed: file.deleted ?? null,
      isBinary: file.isBinary,
      patch: text === null ? null : visiblePatch(text),
      notShown,
      humanOnly: visibleOrNull(human.get(file.path)),
    })),
    isTruncated: hidden > 0,
    reason:
      hidden === 0
        ? null
        : `${hidden} of ${patches.length} files cannot be shown whole, so this is approved only by who has read them elsewhere: git --git-dir ${repository.forgeDir} diff ${baseSha.slice(0, 12)}...${headSha.slice(0, 12)}, then "--seen-whole".`,
  };
}

function visibleOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : makeVisible(text);
}
