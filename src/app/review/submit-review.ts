import { ok, refuse, type Result } from '../../kernel/index.ts';
import { repositoryById } from '../../forge/index.ts';
import { readPullRequest, submitVerdict } from '../../review/index.ts';
import type { TokenHolder } from '../../sessions/index.ts';
import type { ReviewReceipt, ReviewSubmission } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';

/** `submit_review`: a reviewer's verdict, bound to its claim, generation and head (design section 7 "Reviewers"). */
export async function submitReview(
  ctx: AppContext,
  caller: Caller,
  holder: TokenHolder,
  review: ReviewSubmission,
): Promise<Result<ReviewReceipt>> {
  const claim = await ctx.store.read
    .selectFrom('review_claim')
    .selectAll()
    .where('session_id', '=', holder.sessionId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!claim) return refuse('wrong-state', 'no_claim', 'This session reviews no pull request.');
  const pullRequest = await readPullRequest(ctx.store.read, claim.pull_request_id);
  const repository = pullRequest && (await repositoryById(ctx.store.read, pullRequest.repositoryId));
  const humans = await humansOf(ctx, repository?.config.review?.humans);
  return once<ReviewReceipt>(ctx.store, caller, 'agent.review', review, async (tx) => {
    const submitted = await submitVerdict(tx, {
      claimId: claim.id,
      sessionId: holder.sessionId,
      generation: holder.generation,
      headSha: claim.head_sha,
      decision: review.verdict,
      summary: review.summary,
      findings: review.findings,
      coverage: review.coverage,
      isSandboxed: ctx.barrier.sandbox?.holds === true,
      humans,
      actor: caller.actor,
    });
    if (!submitted.ok) return submitted;
    const { verdict } = submitted.value;
    const blocking = verdict.findings.filter((finding) => finding.isBlocking).length;
    const isBinding = verdict.effect === 'applied' && !verdict.isAdvisory;
    const message =
      verdict.effect === 'filed'
        ? `Filed without effect: ${verdict.effectReason}.`
        : 'Thank you. Call `report_done` and end your turn.';
    return ok({ blocking, notes: verdict.findings.length - blocking, isBinding, message });
  });
}

/** Who reviews where agents may not: the instance's operators unless a repository names others (review decision 3). */
export async function humansOf(ctx: Pick<AppContext, 'store'>, named?: readonly string[]): Promise<string[]> {
  const operators = await ctx.store.read
    .selectFrom('user_account')
    .select('name')
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .orderBy('created_at')
    .orderBy('name')
    .execute();
  const names = operators.map((operator) => operator.name);
  if (named === undefined) return names;
  // `operator` stands for whoever that is here.
  return [...new Set(named.flatMap((name) => (name === 'operator' ? names : [name])))];
}
