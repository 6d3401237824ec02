export type { Approval } from './approvals.ts';
export { readApprovals, voidApprovals } from './approvals.ts';
export type { AssessedRisk } from './assess-risk.ts';
export { assessRisk, setRisk } from './assess-risk.ts';
export type { ReviewerCandidate, ReviewerChoice, ReviewerQuestion, Topology } from './choose-reviewer.ts';
export { chooseReviewer, maxAttempts, qualifies, reviewerDemand, topologyOf } from './choose-reviewer.ts';
export type { NewClaim } from './claim-review.ts';
export {
  bindReviewClaim,
  claimReview,
  readReviewHistory,
  rebindReviewClaim,
  releaseReviewClaim,
} from './claim-review.ts';
export type { ClaimId, ReviewClaim } from './claim-store.ts';
export { listClaims, readClaim, readLiveClaim } from './claim-store.ts';
export type { PullRequestDecision } from './decide-pull-request.ts';
export {
  abandonPullRequest,
  approvePullRequest,
  closePullRequest,
  holdBack,
  letGoOn,
  retryPullRequest,
} from './decide-pull-request.ts';
export type { Feedback, FeedbackId } from './feedback.ts';
export { deliverFeedback, feedbackTopic, listFeedback, queueFeedback } from './feedback.ts';
export type { FinishedLanding, LandingFailure, LandingOutcome } from './finish-landing.ts';
export { declineLanding, finishLanding, withdrawLanding } from './finish-landing.ts';
export type { HumanReview } from './human-review.ts';
export { enterHumanReview } from './human-review.ts';
export type { Candidate, LandingRules, LandingYes } from './land.ts';
export { acceptLanding, offerLanding, startLanding } from './land.ts';
export type { AutoLanding, CheckResult, Landing, LandingState } from './landing.ts';
export { landingMoves, landingsTopic, landingStateDocs, maxLandingErrors, maxUnknownReads } from './landing.ts';
export type { Blocker, BlockerCode, LandingFacts } from './landing-blockers.ts';
export { autoLandingCovers, landingBlockers } from './landing-blockers.ts';
export { readLandingFacts } from './landing-facts.ts';
export { listLandings, mayOfferAutoLanding, readLanding, readOpenLanding } from './landing-store.ts';
export type { NewHead } from './move-head.ts';
export { changeBase, moveHead } from './move-head.ts';
export type { NewPullRequest } from './open-pull-request.ts';
export { defaultMaxRounds, openPullRequest } from './open-pull-request.ts';
export type {
  ChangedFile,
  ChangeRisk,
  Contributor,
  Family,
  PullRequest,
  PullRequestState,
  RiskReason,
} from './pull-request.ts';
export { openStates, pullRequestMoves, pullRequestStateDocs, pullRequestsTopic } from './pull-request.ts';
export { listPullRequests, openPullRequestOfTask, readContributors, readPullRequest } from './pull-request-store.ts';
export { changedScripts, holdsSecret, skipsTest } from './read-diff.ts';
export type { RevertId } from './request-revert.ts';
export { requestRevert, revertsTopic } from './request-revert.ts';
export type { FileFact, RiskConfig, RiskFacts, RiskVerdict } from './risk.ts';
export { assessRules } from './risk.ts';
export { resolveBlocked } from './resolve-blocked.ts';
export type { NewVerdict, SubmittedVerdict } from './submit-verdict.ts';
export { listVerdicts, submitVerdict } from './submit-verdict.ts';
export type { Finding, NewFinding, Verdict } from './verdict.ts';
export { recordAftermath } from './record-aftermath.ts';
