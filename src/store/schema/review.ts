/** The next pull request number of a repository (R-8: sequential per repository). */
export interface PullRequestCounterRow {
  repository_id: string;
  next_number: number;
}

/** One change on its way to the base (P2). */
export interface PullRequestRow {
  id: string;
  repository_id: string;
  number: number;
  project_id: string | null;
  task_id: string | null;
  title: string;
  body: string;
  branch: string;
  base_ref: string;
  /** Agent that opened it. */
  author: string;
  author_family: string;
  state: PullRequestStateName;
  /** Machine word of the last move: `assessed`, `pushed`, `rounds_used_up`, … */
  state_reason: string;
  /** Where `held` goes back to. */
  held_from: PullRequestStateName | null;
  /** Change requests on distinct heads since the last reset (A7). */
  rounds: number;
  max_rounds: number;
  /** The live head. */
  head_sha: string;
  /** The merge base at the live head. */
  base_sha: string;
  /** Of merge base to head; null where it is not known. */
  patch_id: string | null;
  risk: 'low' | 'medium' | 'critical' | null;
  /** JSON list of `RiskReason` of the live head. */
  risk_reasons: string;
  /** A human's level for the live head and later ones, until raised by rules; null = rules only. */
  risk_by_human: string | null;
  /** 1 = a path of the list "Always by a human" is touched (design 6). */
  needs_human: number;
  /** JSON list of the live head's files that a review must cover. */
  files: string;
  hitl_at: number | null;
  /** JSON list of operators that were asked. */
  hitl_reviewers: string;
  /** Landing that this one undoes. */
  revert_of: string | null;
  created_at: number;
  updated_at: number;
  closed_at: number | null;
}

export type PullRequestStateName =
  | 'awaiting_risk'
  | 'awaiting_reviewer'
  | 'reviewing'
  | 'changes_requested'
  | 'approved'
  | 'queued'
  | 'landing'
  | 'merged'
  | 'hitl'
  | 'held'
  | 'closed'
  | 'restarted';

/** Who has a part in a pull request: opener, pushers, predecessors (P1 "Opposite"). */
export interface PullRequestContributorRow {
  pull_request_id: string;
  kind: 'agent' | 'operator';
  contributor: string;
  family: string;
  first_at: number;
}

/** Every head a pull request had, in order. */
export interface PullRequestHeadRow {
  pull_request_id: string;
  ordinal: number;
  head_sha: string;
  base_sha: string;
  patch_id: string | null;
  pushed_by: string;
  created_at: number;
}

/** A judgement of a diff (README 2.4 of the specification). */
export interface RiskAssessmentRow {
  id: string;
  subject_kind: string;
  subject_id: string;
  head_sha: string;
  scale: 'change';
  level: 'low' | 'medium' | 'critical';
  reasons: string;
  coverage: 'complete' | 'incomplete' | 'missing';
  assessed_by: string;
  created_at: number;
}

/** A reviewer's hold on a pull request; one live one at a time. */
export interface ReviewClaimRow {
  id: string;
  pull_request_id: string;
  head_sha: string;
  /** Round of the review, from 1. */
  round: number;
  reviewer: string;
  family: string;
  session_id: string | null;
  generation: number | null;
  fence: number;
  state: 'live' | 'finished' | 'released';
  created_at: number;
  ended_at: number | null;
  end_reason: string | null;
}

/** A verdict; never changed (P1). */
export interface PrReviewRow {
  id: string;
  pull_request_id: string;
  /** Null for a human's. */
  claim_id: string | null;
  kind: 'agent' | 'human';
  reviewer: string;
  family: string;
  session_id: string | null;
  generation: number | null;
  head_sha: string;
  base_ref: string;
  round: number;
  decision: 'approve' | 'request_changes';
  summary: string;
  /** JSON list of `Finding`. */
  findings: string;
  /** JSON list of files that were read. */
  coverage: string;
  /** 1 = given without a sandbox. */
  is_advisory: number;
  /** `applied`, or why it was only filed. */
  effect: 'applied' | 'filed';
  effect_reason: string;
  created_at: number;
}

/** An approval as long as it is worth something (A4). */
export interface PrApprovalRow {
  id: string;
  review_id: string;
  pull_request_id: string;
  head_sha: string;
  base_ref: string;
  kind: 'agent' | 'human';
  reviewer: string;
  family: string;
  is_advisory: number;
  created_at: number;
  void_at: number | null;
  void_reason: string | null;
}

/** What has to reach the author, once for each key (R-15, decision 2). */
export interface FeedbackRow {
  id: string;
  pull_request_id: string;
  /** `<source>:<id>:<head>`. */
  key: string;
  source: 'verdict' | 'checks' | 'conflict' | 'human';
  head_sha: string;
  /** JSON: what the author has to know. */
  content: string;
  state: 'pending' | 'delivered' | 'superseded';
  created_at: number;
  delivered_at: number | null;
  /** Session that got it. */
  session_id: string | null;
}

/** One try to land a pull request (P3 `land`). */
export interface LandingRow {
  id: string;
  pull_request_id: string;
  repository_id: string;
  mode: 'base' | 'branch' | 'pull-request';
  method: 'squash' | 'merge' | 'rebase';
  state: 'building' | 'offered' | 'prepared' | 'landed' | 'failed' | 'unknown' | 'withdrawn';
  expected_head: string;
  base_ref: string;
  base_tip: string | null;
  candidate: string | null;
  tree: string | null;
  /** JSON list of `CheckResult`. */
  checks: string;
  /** JSON of the exact git effect shown to the human, and its digest. */
  effect: string;
  effect_digest: string | null;
  decision_id: string | null;
  /** Operator id, or `land.auto`. */
  accepted_by: string | null;
  accepted_at: number | null;
  landed_commit: string | null;
  /** JSON of what followed outside: the operator's checkout, commands to push. Null until it is known. */
  aftermath: string | null;
  reason: string | null;
  /** How often the outcome stayed unknown. */
  unknown_reads: number;
  /** 1 = no human had to change anything (offer of `land.auto`). */
  is_clean: number;
  created_at: number;
  ended_at: number | null;
}

/** A wish to undo a landing (decision 8). */
export interface LandingRevertRow {
  id: string;
  landing_id: string;
  reason: string;
  requested_by: string;
  /** The reviewed revert, once it is open. */
  pull_request_id: string | null;
  state: 'requested' | 'open' | 'landed' | 'abandoned';
  created_at: number;
  ended_at: number | null;
}

/** Tables of `review`. */
export interface ReviewSchema {
  pull_request_counter: PullRequestCounterRow;
  pull_request: PullRequestRow;
  pull_request_contributor: PullRequestContributorRow;
  pull_request_head: PullRequestHeadRow;
  risk_assessment: RiskAssessmentRow;
  review_claim: ReviewClaimRow;
  pr_review: PrReviewRow;
  pr_approval: PrApprovalRow;
  feedback: FeedbackRow;
  landing: LandingRow;
  landing_revert: LandingRevertRow;
}
