import type { Selectable } from 'kysely';

import type { Schema } from '../store/index.ts';

/** Rows as stored. */
export type PullRequestRow = Selectable<Schema['pull_request']>;
export type ContributorRow = Selectable<Schema['pull_request_contributor']>;
export type ReviewClaimRow = Selectable<Schema['review_claim']>;
export type VerdictRow = Selectable<Schema['pr_review']>;
export type ApprovalRow = Selectable<Schema['pr_approval']>;
export type FeedbackRow = Selectable<Schema['feedback']>;
export type LandingRow = Selectable<Schema['landing']>;
export type RevertRow = Selectable<Schema['landing_revert']>;
