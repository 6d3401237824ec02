import { forLog, ok, refuse, type Result } from '../../kernel/index.ts';
import {
  configuredEnvironment,
  readPrepared,
  type Repository,
  repositoryById,
  usesLfs,
  type WorkFolder,
} from '../../forge/index.ts';
import {
  listFeedback,
  openPullRequestOfTask,
  type PullRequest,
  readPullRequest,
  rebindReviewClaim,
} from '../../review/index.ts';
import type { LaunchPlan, Session } from '../../sessions/index.ts';
import type { Schema } from '../../store/index.ts';
import { authorBrief, reopenedBrief } from '../briefs/author-brief.ts';
import { reviewerBrief } from '../briefs/reviewer-brief.ts';
import type { AppContext } from '../context.ts';
import { feedbackTextOf } from '../review/feedback-text.ts';
import { earlierFindings } from '../review/earlier-findings.ts';
import { requireSandbox } from '../workspace/inside.ts';
import { openAuthorFolder } from '../workspace/open-author-folder.ts';
import { openReviewFolder } from '../workspace/open-review-folder.ts';
import { makePlainFolder } from '../workspace/plain-folder.ts';
import { handbackContext } from '../wheel/handback-context.ts';
import { planAgent } from './agent-launch.ts';

/** Everything that one generation needs before its process starts: folder, set-up, brief. A refusal is START_FAILED. */
export async function planLaunch(ctx: AppContext, session: Session): Promise<Result<LaunchPlan>> {
  const sandbox = requireSandbox(ctx);
  if (!sandbox.ok) return sandbox;
  if (ctx.halt.isOn()) return refuse('wrong-state', 'halted', 'Everything was stopped; nothing is launched.');
  const agent = await ctx.store.read
    .selectFrom('agent')
    .selectAll()
    .where('codename', '=', session.agent)
    .executeTakeFirst();
  if (!agent || agent.active !== 1)
    return refuse(
      'not-found',
      'unknown_agent',
      `There is no active agent ${session.agent}: \`chantier agent list\` names them.`,
    );
  return session.role === 'reviewer' ? planReviewer(ctx, session, agent) : planAuthor(ctx, session, agent);
}

async function planAuthor(ctx: AppContext, session: Session, agent: Schema['agent']): Promise<Result<LaunchPlan>> {
  const task = session.taskId
    ? await ctx.store.read.selectFrom('task').selectAll().where('id', '=', session.taskId).executeTakeFirst()
    : undefined;
  if (!task) return refuse('not-found', 'unknown_task', `Session ${session.workKey} has no task to work on.`);
  const repository = task.repository_id ? await repositoryById(ctx.store.read, task.repository_id) : undefined;
  const sandbox = requireSandbox(ctx);
  if (!sandbox.ok) return sandbox;
  if (!repository) {
    const folder = await makePlainFolder(ctx, session.folderKey, sandbox.value);
    const { handedBack, ...folded } = await handbackContext(ctx, session, undefined);
    const brief = authorBrief({
      workKey: session.workKey,
      title: task.title,
      request: requestOf(task),
      checks: [],
      ...(handedBack === undefined ? {} : { handedBack }),
    });
    const firstPrompt = session.resumeConversationId === null ? brief : handedBack;
    const plain = { kind: 'author' as const, folder, access: 'read-write' as const, ...folded };
    return ok(await planAgent(ctx, session, agent, firstPrompt === undefined ? plain : { ...plain, firstPrompt }));
  }
  const folder = await openAuthorFolder(ctx, session, task, repository);
  if (!folder.ok) return folder;
  const env = configuredEnvironment(repository.config, folder.value);
  const { handedBack, ...folded } = await handbackContext(ctx, session, repository);
  const place = {
    kind: 'author' as const,
    folder: folder.value,
    repository,
    access: 'read-write' as const,
    env,
    ...folded,
  };
  const earlier = await openPullRequestOfTask(ctx.store.read, task.id);
  const reopened = await whyReopened(ctx, task.id);
  const work = {
    workKey: session.workKey,
    title: task.title,
    branch: {
      name: folder.value.branch ?? 'HEAD',
      base: `${repository.base} (${folder.value.startCommit.slice(0, 12)})`,
    },
    checks: checkLines(repository),
    notes: await folderNotes(ctx, repository, folder.value),
    ...reopened,
  };
  // A conversation that goes on gets its feedback as the next prompt; the brief is in its history.
  if (session.resumeConversationId !== null) {
    const isReopened = session.generation === 1 && !earlier && reopened.reopened !== undefined;
    const firstPrompt = handedBack ?? (isReopened ? reopenedBrief(work) : undefined);
    return ok(await planAgent(ctx, session, agent, firstPrompt === undefined ? place : { ...place, firstPrompt }));
  }
  const firstPrompt = authorBrief({
    ...work,
    request: requestOf(task),
    ...(earlier ? { earlierWork: await earlierWorkOf(ctx, earlier) } : {}),
    ...(handedBack === undefined ? {} : { handedBack }),
  });
  return ok(await planAgent(ctx, session, agent, { ...place, firstPrompt }));
}

/** What an author has to know of a folder that does not hold everything. */
async function folderNotes(ctx: AppContext, repository: Repository, folder: WorkFolder): Promise<string[]> {
  const { filled = [], missing = [] } = (await readPrepared(folder))?.submodules ?? {};
  const names = (paths: readonly string[]): string => paths.map((path) => forLog(path, 120)).join(', ');
  return [
    ...(filled.length > 0 ? [`Submodules (${names(filled)}) are there to read; changes in them are not taken.`] : []),
    ...(missing.length > 0 ? [`Submodules that are empty because nobody fetched them: ${names(missing)}.`] : []),
    ...((await usesLfs(ctx.forge, repository, folder.startCommit))
      ? ['Files of git-lfs are here as pointers, without their content. Leave them as they are.']
      : []),
  ];
}

/** The newest reason for which a human opened the task again. */
async function whyReopened(ctx: AppContext, taskId: string): Promise<{ reopened?: string }> {
  const text = await ctx.store.read
    .selectFrom('ledger_text')
    .select('text')
    .where('subject_kind', '=', 'task')
    .where('subject_id', '=', taskId)
    .where('kind', '=', 'reason')
    .where('field', '=', 'reopen')
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return text ? { reopened: text.text } : {};
}

async function earlierWorkOf(
  ctx: AppContext,
  pullRequest: PullRequest,
): Promise<{ summary: string; findings: string }> {
  const all = await listFeedback(ctx.store.read, { pullRequestId: pullRequest.id });
  const current = all.filter((feedback) => feedback.headSha === pullRequest.headSha);
  const texts = current.map((feedback) => feedbackTextOf(pullRequest, feedback));
  return { summary: `${pullRequest.title}\n\n${pullRequest.body}`, findings: texts.join('\n\n') || 'none' };
}

async function planReviewer(ctx: AppContext, session: Session, agent: Schema['agent']): Promise<Result<LaunchPlan>> {
  const pullRequest = session.pullRequestId ? await readPullRequest(ctx.store.read, session.pullRequestId) : undefined;
  if (!pullRequest)
    return refuse('not-found', 'unknown_pull_request', `Session ${session.workKey} has no pull request to review.`);
  const repository = await repositoryById(ctx.store.read, pullRequest.repositoryId);
  if (!repository)
    return refuse('not-found', 'repository_not_found', `There is no repository ${pullRequest.repositoryId}.`);
  await ctx.store.tx((tx) => rebindReviewClaim(tx, { sessionId: session.id, generation: session.generation }));
  const review = await openReviewFolder(ctx, session, repository, {
    head: pullRequest.headSha,
    base: pullRequest.baseSha,
  });
  const task = pullRequest.taskId
    ? await ctx.store.read.selectFrom('task').selectAll().where('id', '=', pullRequest.taskId).executeTakeFirst()
    : undefined;
  const firstPrompt = reviewerBrief({
    number: pullRequest.number,
    title: pullRequest.title,
    request: task ? requestOf(task) : pullRequest.body,
    head: pullRequest.headSha,
    base: pullRequest.baseSha,
    changeRisk: pullRequest.risk ?? 'medium',
    riskReasons: pullRequest.riskReasons.map((reason) => reason.message),
    files: review.files,
    restoredFiles: review.restored,
    patch: review.patch,
    patchPath: review.patchPath,
    isPatchCut: review.isPatchCut,
    earlierFindings: await earlierFindings(ctx.store.read, pullRequest.id),
  });
  return ok(
    await planAgent(ctx, session, agent, {
      kind: 'reviewer',
      folder: review.folder,
      repository,
      access: 'read-only',
      readOnly: [review.patchPath],
      firstPrompt,
    }),
  );
}

function requestOf(task: Schema['task']): string {
  return task.request ?? task.description;
}

function checkLines(repository: Repository): string[] {
  const { checks } = repository.config;
  return checks === 'none' ? [] : checks.map((check) => `${check.name}: ${check.run.join(' ')}`);
}
