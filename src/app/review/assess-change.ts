import { type Result, systemActor } from '../../kernel/index.ts';
import type { Repository } from '../../forge/index.ts';
import { assessRisk, assessRules, type PullRequest } from '../../review/index.ts';
import { skipsRisk } from '../author/report-done.ts';
import type { AppContext } from '../context.ts';
import { readRiskFacts } from './risk-facts.ts';
import { humansOf } from './submit-review.ts';

/** Judges the live head by rules and moves the pull request on: to a reviewer, or to humans when it is critical. */
export async function assessChange(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<Result<unknown>> {
  const facts = await readRiskFacts(ctx, repository, pullRequest);
  const { critical = [], medium = [] } = repository.config.risk ?? {};
  const verdict = assessRules(facts, { critical, medium });
  const humans = await humansOf(ctx, repository.config.review?.humans);
  return ctx.store.tx((tx) =>
    assessRisk(tx, {
      pullRequestId: pullRequest.id,
      headSha: pullRequest.headSha,
      verdict,
      humans,
      skipRiskAssessment: skipsRisk(ctx, repository),
      actor: systemActor('risk'),
    }),
  );
}
