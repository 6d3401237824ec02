import type { Kysely } from 'kysely';

import type { Schema } from '../store/index.ts';
import { readApprovals } from './approvals.ts';
import type { LandingRules } from './land.ts';
import type { LandingFacts } from './landing-blockers.ts';
import type { PullRequest } from './pull-request.ts';
import { readContributors } from './pull-request-store.ts';

/** The facts that the store knows; candidate, yes and lease are added by who asks. What is not known yet blocks. */
export async function readLandingFacts(
  db: Kysely<Schema>,
  pullRequest: PullRequest,
  rules: LandingRules,
): Promise<LandingFacts> {
  return {
    state: pullRequest.state,
    headSha: pullRequest.headSha,
    baseRef: pullRequest.baseRef,
    risk: pullRequest.risk,
    skipRiskAssessment: rules.skipRiskAssessment,
    needsHuman: pullRequest.needsHuman,
    topology: rules.topology,
    contributors: await readContributors(db, pullRequest.id),
    approvals: await readApprovals(db, pullRequest.id),
    outstandingRequests: await readOutstanding(db, pullRequest),
    missingOwners: rules.missingOwners ?? [],
    requiredChecks: rules.requiredChecks,
    ...(rules.baseClosed === undefined ? {} : { baseClosed: rules.baseClosed }),
    baseTip: '',
    isAccepted: false,
    auto: 'none',
    sandboxHolds: false,
  };
}

/** Reviewers whose last applied verdict on the live head asks for changes (A5); a human's approval of that head overrules them. */
async function readOutstanding(db: Kysely<Schema>, pullRequest: PullRequest): Promise<string[]> {
  const verdicts = await db
    .selectFrom('pr_review')
    .select(['reviewer', 'kind', 'decision'])
    .where('pull_request_id', '=', pullRequest.id)
    .where('head_sha', '=', pullRequest.headSha)
    .where('effect', '=', 'applied')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const standing = new Set<string>();
  for (const verdict of verdicts) {
    if (verdict.decision === 'request_changes') standing.add(verdict.reviewer);
    else if (verdict.kind === 'human') standing.clear();
    else standing.delete(verdict.reviewer);
  }
  return [...standing];
}
