import { type Result, systemActor } from '../../kernel/index.ts';
import type { Repository } from '../../forge/index.ts';
import { claimRework, workKey } from '../../ledger/index.ts';
import {
  deliverFeedback,
  enterHumanReview,
  type Feedback,
  listFeedback,
  type PullRequest,
} from '../../review/index.ts';
import { enqueuePrompt, findSession, type SessionRow, startSession } from '../../sessions/index.ts';
import { done, failed, lookAgainIn, type PassOutcome, type Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { whyNothingStarts } from '../dispatch/dispatch-tasks.ts';
import { useAccount } from '../dispatch/use-account.ts';
import { feedbackTextOf } from './feedback-text.ts';
import { humansOf } from './submit-review.ts';
import { askIfUsedUp, reserveFirstTurn } from '../spending/reserve-first-turn.ts';

const actor = systemActor('feedback');

/** So many sessions may fail to bring a change on before a human looks: one that resumes, one that starts afresh (review decision 1). */
const maxFollowUps = 2;

/**
 * Brings what must change to the author of a pull request (design section 7): to the living session; else to a new one that
 * resumes the conversation; else to a fresh one on the same branch; else to a human. Keyed by feedback and head.
 */
export async function deliverToAuthor(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<PassOutcome> {
  const all = await listFeedback(ctx.store.read, { pullRequestId: pullRequest.id });
  const current = all.filter((feedback) => feedback.headSha === pullRequest.headSha && feedback.state !== 'superseded');
  const pending = current.filter((feedback) => feedback.state === 'pending');
  const authors = await authorSessions(ctx, pullRequest);
  const living = authors.find((session) => session.ended_at === null);
  if (living) {
    for (const feedback of pending) await handOver(ctx, pullRequest, feedback, living.id);
    return done;
  }
  if (current.length === 0) return done;
  if (!(await whyNothingStarts(ctx)).ok) return lookAgainIn(30_000);
  if (ctx.machine.look().isHeld) return lookAgainIn(5_000);
  const since = Math.max(...current.map((feedback) => feedback.createdAt));
  const followUps = authors.filter((session) => session.created_at >= since);
  const last = authors[0];
  if (followUps.length >= maxFollowUps || !last) {
    const humans = await humansOf(ctx, repository.config.review?.humans);
    const entered = await ctx.store.tx((tx) =>
      enterHumanReview(tx, { pullRequestId: pullRequest.id, reason: 'author_lost', humans, actor }),
    );
    return entered.ok ? done : failed(new Error(entered.refusal.message));
  }
  const started = await followUp(ctx, pullRequest, current, last, followUps.length === 0);
  if (started.ok) return done;
  return started.refusal.kind === 'quota' ? lookAgainIn(10_000) : failed(new Error(started.refusal.message));
}

/** A new session for the same task and folder; with `resume` it opens the conversation again, else it gets the whole brief. */
async function followUp(
  ctx: AppContext,
  pullRequest: PullRequest,
  feedback: readonly Feedback[],
  last: SessionRow,
  resume: boolean,
): Promise<Result<undefined>> {
  const begun = await ctx.store.tx(async (tx) => {
    const going = await ctx.halt.guard(tx);
    if (!going.ok) return going;
    const task = await tx.db
      .selectFrom('task')
      .selectAll()
      .where('id', '=', pullRequest.taskId!)
      .executeTakeFirstOrThrow();
    const project = await tx.db
      .selectFrom('project')
      .select('codename')
      .where('id', '=', task.project_id)
      .executeTakeFirstOrThrow();
    const claim = await claimRework(tx, { taskId: task.id, holder: ctx.nodeId, actor });
    if (!claim.ok) return claim;
    const conversation = resume ? last.conversation_id : null;
    const session = await startSession(
      tx,
      ctx.sessions,
      { actor, scope: 'feedback' },
      {
        workKey: workKey(project, task),
        projectCode: project.codename,
        key: `rework:${task.id}:${claim.value.fence}`,
        agent: last.agent,
        role: 'author',
        projectId: task.project_id,
        taskId: task.id,
        taskFence: claim.value.fence,
        folderKey: last.folder_key ?? last.id,
        ...(conversation === null ? {} : { resumeConversationId: conversation }),
      },
    );
    if (!session.ok) return session;
    const usable = await useAccount(tx, last.agent, session.value.value.session_id);
    if (!usable.ok) return usable;
    const row = await findSession(tx.db, session.value.value.session_id);
    if (!row) throw new Error('a session that was just started cannot be read');
    for (const one of feedback) {
      if (conversation !== null) await enqueueFeedback(tx, pullRequest, one, row);
      if (one.state === 'pending') await deliverFeedback(tx, { feedbackId: one.id, sessionId: row.id, actor });
    }
    return reserveFirstTurn(tx, ctx, row.id, task.request ?? `${task.title}\n${task.description}`);
  });
  if (!begun.ok) await askIfUsedUp(ctx, begun.refusal, pullRequest);
  return begun;
}

async function handOver(
  ctx: AppContext,
  pullRequest: PullRequest,
  feedback: Feedback,
  sessionId: string,
): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const row = await findSession(tx.db, sessionId);
    if (!row || row.ended_at !== null) return;
    await enqueueFeedback(tx, pullRequest, feedback, row);
    await deliverFeedback(tx, { feedbackId: feedback.id, sessionId, actor });
  });
}

async function enqueueFeedback(
  tx: Tx,
  pullRequest: PullRequest,
  feedback: Feedback,
  session: SessionRow,
): Promise<void> {
  await enqueuePrompt(tx, session, {
    kind: 'feedback',
    sourceKey: `feedback:${feedback.id}`,
    text: feedbackTextOf(pullRequest, feedback),
    actor,
  });
}

/** The author sessions of a pull request's task, newest first. */
async function authorSessions(ctx: AppContext, pullRequest: PullRequest): Promise<SessionRow[]> {
  if (!pullRequest.taskId) return [];
  return ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('task_id', '=', pullRequest.taskId)
    .where('role', '=', 'author')
    .orderBy('created_at', 'desc')
    .execute();
}
