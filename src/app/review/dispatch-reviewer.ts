import { refuse, systemActor } from '../../kernel/index.ts';
import type { Repository } from '../../forge/index.ts';
import { listAgents } from '../../ledger/index.ts';
import {
  bindReviewClaim,
  chooseReviewer,
  claimReview,
  enterHumanReview,
  type PullRequest,
  readContributors,
  readReviewHistory,
  type ReviewerCandidate,
  topologyOf,
} from '../../review/index.ts';
import { startSession } from '../../sessions/index.ts';
import { done, failed, lookAgainIn, type PassOutcome } from '../../store/index.ts';
import { skipsRisk } from '../author/report-done.ts';
import type { AppContext } from '../context.ts';
import { whyNothingStarts } from '../dispatch/dispatch-tasks.ts';
import { isLimited, useAccount } from '../dispatch/use-account.ts';
import { askIfUsedUp, reserveFirstTurn } from '../spending/reserve-first-turn.ts';
import { reviewWorkKey } from './review-work-key.ts';
import { humansOf } from './submit-review.ts';

const actor = systemActor('review');

/** Gives a pull request to a reviewer of another family, or to a human when nobody qualifies (P3 `scan`). */
export async function dispatchReviewer(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<PassOutcome> {
  if (!(await whyNothingStarts(ctx)).ok) return lookAgainIn(30_000);
  if (ctx.machine.look().isHeld) return lookAgainIn(5_000);
  const reviewers = await readReviewers(ctx);
  const topology = topologyOf(reviewers);
  const contributors = await readContributors(ctx.store.read, pullRequest.id);
  const history = await readReviewHistory(ctx.store.read, pullRequest);
  const choice = chooseReviewer({ contributors, topology, reviewers, ...history });
  if (choice.kind === 'wait') return lookAgainIn(10_000);
  if (choice.kind === 'nobody') {
    const humans = await humansOf(ctx, repository.config.review?.humans);
    const reason = choice.reason === 'none_qualifies' ? 'no_reviewer_qualifies' : 'reviewers_failed';
    const entered = await ctx.store.tx((tx) =>
      enterHumanReview(tx, { pullRequestId: pullRequest.id, reason, humans, actor }),
    );
    return entered.ok ? done : failed(new Error(entered.refusal.message));
  }
  const { reviewer } = choice;
  const started = await ctx.store.tx(async (tx) => {
    const claim = await claimReview(tx, {
      pullRequestId: pullRequest.id,
      headSha: pullRequest.headSha,
      reviewer: { agent: reviewer.agent, family: reviewer.family },
      topology,
      skipRiskAssessment: skipsRisk(ctx, repository),
      actor,
    });
    if (!claim.ok) return claim;
    const project = pullRequest.projectId
      ? await tx.db.selectFrom('project').select('codename').where('id', '=', pullRequest.projectId).executeTakeFirst()
      : undefined;
    if (!project)
      return refuse('not-found', 'unknown_project', `Pull request ${pullRequest.number} belongs to no project.`);
    const session = await startSession(
      tx,
      ctx.sessions,
      { actor, scope: 'review' },
      {
        workKey: await reviewWorkKey(tx, repository, pullRequest, claim.value.round),
        projectCode: project.codename,
        key: `review:${claim.value.id}`,
        agent: reviewer.agent,
        role: 'reviewer',
        pullRequestId: pullRequest.id,
        ...(pullRequest.projectId ? { projectId: pullRequest.projectId } : {}),
      },
    );
    if (!session.ok) return session;
    const { session_id: sessionId, generation } = session.value.value;
    const usable = await useAccount(tx, reviewer.agent, sessionId);
    if (!usable.ok) return usable;
    const bound = await bindReviewClaim(tx, { claimId: claim.value.id, sessionId, generation });
    if (!bound.ok) return bound;
    return reserveFirstTurn(tx, ctx, sessionId, `${pullRequest.title}\n${pullRequest.body}`);
  });
  if (started.ok) return done;
  const { kind, code, message } = started.refusal;
  // No slot, or a reviewer of this round still lives: the end of a session wakes this one.
  if (kind === 'quota' || code === 'already_active') return lookAgainIn(10_000);
  const { projectId, taskId } = pullRequest;
  await askIfUsedUp(ctx, started.refusal, { projectId, taskId });
  ctx.log.info({ pullRequest: pullRequest.id, code }, message);
  return lookAgainIn(30_000);
}

async function readReviewers(ctx: AppContext): Promise<ReviewerCandidate[]> {
  const agents = await listAgents(ctx.store.read, { role: 'reviewer', activeOnly: true });
  const uses = await ctx.store.read
    .selectFrom('session')
    .select((eb) => [
      'agent',
      eb.fn.max('created_at').as('last'),
      eb.fn.sum(eb.case().when('ended_at', 'is', null).then(1).else(0).end()).as('living'),
    ])
    .where('role', '=', 'reviewer')
    .groupBy('agent')
    .execute();
  const rows = await ctx.store.read.selectFrom('agent').selectAll().where('active', '=', 1).execute();
  const limited = new Set<string>();
  for (const row of rows) if (await isLimited(ctx.store.read, row, ctx.store.clock.now())) limited.add(row.codename);
  return agents.map((agent) => {
    const use = uses.find((one) => one.agent === agent.codename);
    return {
      agent: agent.codename,
      family: agent.family,
      isIdle: Number(use?.living ?? 0) === 0,
      isLimited: limited.has(agent.codename),
      lastUsedAt: use ? Number(use.last) : null,
    };
  });
}
