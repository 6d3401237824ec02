import { existsSync } from 'node:fs';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import {
  changedFiles,
  inspectWorkFolder,
  patchIdOf,
  type Repository,
  takeBranch,
  type TakenBranch,
  type WorkFolder,
} from '../../forge/index.ts';
import { completeTask, deliverTask, heartbeat, pauseTask } from '../../ledger/index.ts';
import {
  enterHumanReview,
  moveHead,
  openPullRequest,
  openPullRequestOfTask,
  type PullRequest,
} from '../../review/index.ts';
import { findSession, markDone, type TokenHolder, toSession } from '../../sessions/index.ts';
import { openDecision, type Schema, type Tx } from '../../store/index.ts';
import type { CompletionView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { humansOf } from '../review/submit-review.ts';
import { insideOf } from '../workspace/inside.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';

/**
 * `report_done`: the work of a session is ready (design section 7 "The life of an author"). Refused while the work folder is
 * dirty, files named. Else the branch is taken and the pull request opened or updated, the task handed in and the session
 * DONE, in one transaction. No commit ahead of the base becomes the decision `nothing_delivered`.
 */
export async function reportDone(
  ctx: AppContext,
  caller: Caller,
  holder: TokenHolder,
  summary: string,
): Promise<Result<CompletionView>> {
  if (holder.role !== 'author') return finishReview(ctx, caller, holder);
  const task =
    holder.taskId === null
      ? undefined
      : await ctx.store.read.selectFrom('task').selectAll().where('id', '=', holder.taskId).executeTakeFirst();
  if (!task) return refuse('wrong-state', 'no_task', 'This session holds no task: claim one with `task_claim`.');
  const row = await findSession(ctx.store.read, holder.sessionId);
  if (!row) return refuse('not-found', 'unknown_session', `There is no session ${holder.sessionId}.`);
  const place = await findSessionFolder(ctx, toSession(row));
  if (task.repository_id === null) return completeWithoutRepository(ctx, caller, holder, task);
  // Somebody may have removed it under the agent: said here, or the session would stay RUNNING for ever.
  if (!place?.repository || !existsSync(place.folder.clone)) {
    return refuse(
      'wrong-state',
      'work_folder_lost',
      `The work folder of ${holder.workKey} is gone; a human has to look at it.`,
    );
  }
  const { folder, repository } = place;
  const facts = await inspectWorkFolder(ctx.forge, repository, folder, insideOf(ctx));
  if (!facts.ok) return facts;
  if (!facts.value.isClean) {
    const files = facts.value.dirty;
    return refuse(
      'wrong-state',
      'work_folder_dirty',
      `There are uncommitted files: ${files.slice(0, 10).join(', ')}${files.length > 10 ? ` and ${files.length - 10} more` : ''}. Commit or remove them, then report again.`,
      { files: files.slice(0, 50) },
    );
  }
  if (!facts.value.isOnBranch && facts.value.ahead > 0) {
    return refuse(
      'wrong-state',
      'other_branch',
      `You are on ${facts.value.headBranch ?? 'a detached HEAD'}, but only ${folder.branch} is taken: bring your commits there, then report again.`,
      { branch: folder.branch ?? null },
    );
  }
  const taken = await takeBranch(ctx.forge, repository, folder, insideOf(ctx));
  if (!taken.ok) return taken;
  if (taken.value.ahead === 0) return reportNothing(ctx, caller, holder, task, summary);
  return deliver(ctx, caller, holder, task, { repository, folder, taken: taken.value, summary });
}

interface Delivered {
  repository: Repository;
  folder: WorkFolder;
  taken: TakenBranch;
  summary: string;
}

async function deliver(
  ctx: AppContext,
  caller: Caller,
  holder: TokenHolder,
  task: Schema['task'],
  work: Delivered,
): Promise<Result<CompletionView>> {
  const { repository, taken } = work;
  const base = await baseOf(ctx, repository, taken.commit);
  const patchId = await patchIdOf(ctx.forge, repository, base, taken.commit);
  const session = await ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('id', '=', holder.sessionId)
    .executeTakeFirstOrThrow();
  const agent = await ctx.store.read
    .selectFrom('agent')
    .select(['codename', 'family'])
    .where('codename', '=', session.agent)
    .executeTakeFirstOrThrow();
  const humans = await humansOf(ctx, repository.config.review?.humans);
  const delivered = await once(
    ctx.store,
    caller,
    'agent.done',
    { head: taken.commit, summary: work.summary },
    async (tx) => {
      const pullRequest = await putUp(tx, ctx, caller, task, work, { base, patchId, agent, humans });
      if (!pullRequest.ok) return pullRequest;
      await keepClaim(tx, task.id, session.task_fence);
      const handed = await deliverTask(tx, {
        taskId: task.id,
        pullRequestId: pullRequest.value.id,
        ...(session.task_fence === null ? {} : { fence: session.task_fence }),
        actor: caller.actor,
        sessionId: holder.sessionId,
      });
      if (!handed.ok) return handed;
      const ended = await markDone(tx, ctx.sessions, holder);
      return ended.ok ? ok({ number: pullRequest.value.number, done: ended.value.done }) : ended;
    },
  );
  if (!delivered.ok) return delivered;
  const { number, done } = delivered.value;
  const later = done ? '' : ' This session ends once its open questions are answered.';
  return ok({ pullRequest: number, message: `Pull request ${number} is up for review.${later} End your turn now.` });
}

async function putUp(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  task: Schema['task'],
  work: Delivered,
  facts: { base: string; patchId: string | undefined; agent: { codename: string; family: string }; humans: string[] },
): Promise<Result<PullRequest>> {
  const { repository, taken, summary } = work;
  const skipRiskAssessment = skipsRisk(ctx, repository);
  const patch = facts.patchId === undefined ? {} : { patchId: facts.patchId };
  const open = await openPullRequestOfTask(tx.db, task.id);
  if (open?.state === 'changes_requested' && open.headSha === taken.commit) {
    // Nothing was changed on purpose: the author's reasons go to a human, not into another round (I5).
    const entered = await enterHumanReview(tx, {
      pullRequestId: open.id,
      reason: 'author_disagrees',
      humans: facts.humans,
      detail: { answer: summary },
      actor: caller.actor,
    });
    return entered.ok ? ok(open) : entered;
  }
  if (open) {
    return moveHead(tx, {
      pullRequestId: open.id,
      headSha: taken.commit,
      baseSha: facts.base,
      ...patch,
      hasConflictResolution: !taken.isFastForward,
      pushedBy: { kind: 'agent', contributor: facts.agent.codename, family: facts.agent.family },
      skipRiskAssessment,
      actor: caller.actor,
    });
  }
  return openPullRequest(tx, {
    repositoryId: repository.id,
    projectId: task.project_id,
    taskId: task.id,
    title: task.title,
    body: summary,
    branch: taken.branch,
    baseRef: repository.base,
    headSha: taken.commit,
    baseSha: facts.base,
    ...patch,
    author: { agent: facts.agent.codename, family: facts.agent.family },
    maxRounds: repository.config.review?.maxRounds ?? ctx.config.get('review.maxRounds'),
    skipRiskAssessment,
    actor: caller.actor,
  });
}

/** Whether the label gate is off here (R-6): the instance's setting or the trusted repository's. */
export function skipsRisk(ctx: Pick<AppContext, 'config'>, repository: Repository): boolean {
  return ctx.config.get('review.skipRiskAssessment') || repository.config.review?.skipRiskAssessment === true;
}

async function baseOf(ctx: AppContext, repository: Repository, head: string): Promise<string> {
  const facts = await changedFiles(ctx.forge, repository, repository.base, head);
  return facts.mergeBase;
}

/**
 * A session that reports is alive: its claim holds though the time of it passed while the machine slept, unless somebody
 * else took it meanwhile, which the write that follows refuses (design 5 "Leases", field case 67).
 */
async function keepClaim(tx: Tx, taskId: string, fence: number | null): Promise<void> {
  if (fence !== null) await heartbeat(tx, { taskId, fence, evenIfExpired: true });
}

async function completeWithoutRepository(
  ctx: AppContext,
  caller: Caller,
  holder: TokenHolder,
  task: Schema['task'],
): Promise<Result<CompletionView>> {
  const session = await ctx.store.read
    .selectFrom('session')
    .select('task_fence')
    .where('id', '=', holder.sessionId)
    .executeTakeFirstOrThrow();
  const done = await once(ctx.store, caller, 'agent.done', { task: task.id }, async (tx) => {
    const fence = session.task_fence ?? 0;
    await keepClaim(tx, task.id, fence);
    const completed = await completeTask(tx, {
      taskId: task.id,
      by: { kind: 'session', fence, sessionId: holder.sessionId },
      actor: caller.actor,
    });
    if (!completed.ok) return completed;
    const ended = await markDone(tx, ctx.sessions, holder);
    return ended.ok ? ok({ done: ended.value.done }) : ended;
  });
  return done.ok ? ok({ pullRequest: null, message: 'The task is done. End your turn now.' }) : done;
}

/** Work that ended without a change: the task waits for a human, who says whether that is right (decision `nothing_delivered`). */
async function reportNothing(
  ctx: AppContext,
  caller: Caller,
  holder: TokenHolder,
  task: Schema['task'],
  summary: string,
): Promise<Result<CompletionView>> {
  const reported = await once(ctx.store, caller, 'agent.done', { nothing: task.id, summary }, async (tx) => {
    const paused = await pauseTask(tx, { taskId: task.id, actor: caller.actor, reason: 'nothing delivered' });
    if (!paused.ok) return paused;
    await openDecision(tx, {
      kind: 'nothing_delivered',
      subject: { kind: 'task', id: task.id },
      projectId: task.project_id,
      title: `${holder.workKey} ended without a change`,
      detail: { task: task.id, workKey: holder.workKey, summary },
      actor: caller.actor,
    });
    const ended = await markDone(tx, ctx.sessions, holder);
    return ended.ok ? ok({ done: ended.value.done }) : ended;
  });
  return reported.ok
    ? ok({
        pullRequest: null,
        message: 'There is no commit ahead of the base. A human will look at that. End your turn now.',
      })
    : reported;
}

/** Reviewers and QA: their verdict is what counts; this only ends the session. */
async function finishReview(ctx: AppContext, caller: Caller, holder: TokenHolder): Promise<Result<CompletionView>> {
  const verdict = await ctx.store.read
    .selectFrom('pr_review')
    .select('id')
    .where('session_id', '=', holder.sessionId)
    .limit(1)
    .executeTakeFirst();
  if (holder.role === 'reviewer' && !verdict) {
    return refuse('wrong-state', 'no_verdict', 'There is no verdict of this session yet: call `submit_review` first.');
  }
  const ended = await once(ctx.store, caller, 'agent.done', { session: holder.sessionId }, async (tx) => {
    const done = await markDone(tx, ctx.sessions, holder);
    return done.ok ? ok({ done: done.value.done }) : done;
  });
  return ended.ok ? ok({ pullRequest: null, message: 'Thank you. End your turn now.' }) : ended;
}
