import type { Approval } from './approvals.ts';
import { qualifies, type Topology } from './choose-reviewer.ts';
import type { AutoLanding, CheckResult } from './landing.ts';
import type { ChangeRisk, Contributor, PullRequestState } from './pull-request.ts';

/** All that decides whether a pull request may land now. */
export interface LandingFacts {
  state: PullRequestState;
  headSha: string;
  baseRef: string;
  risk: ChangeRisk | null;
  /** The risk gate is off; the protected paths stay on (A23). */
  skipRiskAssessment: boolean;
  /** A path of the list "Always by a human" is touched. */
  needsHuman: boolean;
  topology: Topology;
  contributors: readonly Contributor[];
  /** Those that are not void. */
  approvals: readonly Approval[];
  /** Reviewers whose change request on the live head still stands. */
  outstandingRequests: readonly string[];
  /** Owners of changed paths who have not approved, where code owners are enabled. */
  missingOwners: readonly string[];
  /** `none` was said; an empty list was not, and blocks (field case 6). */
  requiredChecks: 'none' | readonly string[];
  /** Why the base takes nothing now; left out = open. */
  baseClosed?: string;
  /** Another landing holds the base. */
  leaseHolder?: string;
  /** Tip of the base as it is. */
  baseTip: string;
  /** The commit that would land; left out = not built yet. */
  candidate?: { headSha: string; baseTip: string; checks: readonly CheckResult[] };
  /** A human's yes to exactly this candidate. */
  isAccepted: boolean;
  auto: AutoLanding;
  /** Automatic landing is off without a proved sandbox. */
  sandboxHolds: boolean;
}

export type BlockerCode =
  | 'not_open'
  | 'risk_unknown'
  | 'risk_critical'
  | 'approval_missing'
  | 'changes_requested'
  | 'code_owners'
  | 'checks_undefined'
  | 'base_closed'
  | 'lease_held'
  | 'candidate_missing'
  | 'candidate_stale'
  | 'checks_missing'
  | 'checks_red'
  | 'yes_missing';

export interface Blocker {
  code: BlockerCode;
  message: string;
}

/** Blockers that only the candidate and the yes can lift; the others stand before anything is built. */
export const lateBlockers: readonly BlockerCode[] = [
  'lease_held',
  'candidate_missing',
  'candidate_stale',
  'checks_missing',
  'checks_red',
  'yes_missing',
];

/** Why a pull request may not land, in the order of P3 `land`; the first is the reason that is shown. Empty = it may. Pure. */
export function landingBlockers(facts: LandingFacts): Blocker[] {
  return [
    stateBlocker(facts),
    riskBlocker(facts),
    approvalBlocker(facts),
    facts.outstandingRequests.length > 0 &&
      blocker('changes_requested', `changes requested by ${facts.outstandingRequests.join(', ')} still stand`),
    facts.missingOwners.length > 0 &&
      blocker('code_owners', `code owners have not approved: ${facts.missingOwners.join(', ')}`),
    facts.requiredChecks !== 'none' &&
      facts.requiredChecks.length === 0 &&
      blocker('checks_undefined', 'no check is configured; write checks, or say checks: none'),
    facts.baseClosed !== undefined && blocker('base_closed', `the base is closed: ${facts.baseClosed}`),
    facts.leaseHolder !== undefined && blocker('lease_held', `landing ${facts.leaseHolder} holds the base`),
    candidateBlocker(facts),
    !facts.isAccepted &&
      !autoLandingCovers(facts) &&
      blocker('yes_missing', `a human has to say yes${yesReason(facts)}`),
  ].filter((one) => one !== false && one !== undefined);
}

/** Whether the change lands without asking: its risk is covered, nothing is always for a human, the review was no mere advice. */
export function autoLandingCovers(
  facts: Pick<LandingFacts, 'auto' | 'risk' | 'needsHuman' | 'sandboxHolds' | 'approvals' | 'headSha' | 'baseRef'>,
): boolean {
  if (facts.auto === 'none' || facts.needsHuman || !facts.sandboxHolds) return false;
  if (facts.risk !== 'low' && !(facts.risk === 'medium' && facts.auto === 'medium')) return false;
  return facts.approvals.some((approval) => isCurrent(approval, facts) && !approval.isAdvisory);
}

function stateBlocker({ state }: LandingFacts): Blocker | undefined {
  if (state === 'approved' || state === 'queued' || state === 'landing') return undefined;
  const messages: Partial<Record<PullRequestState, string>> = {
    hitl: 'a human review is open',
    held: 'it is held',
    merged: 'it has landed already',
    closed: 'it is closed',
    restarted: 'it was restarted',
    awaiting_risk: 'its risk is not known yet',
    awaiting_reviewer: 'it waits for a reviewer',
    reviewing: 'it is being reviewed',
    changes_requested: 'changes are requested',
  };
  return blocker('not_open', messages[state] ?? `it is ${state}`);
}

function riskBlocker(facts: LandingFacts): Blocker | undefined {
  if (facts.skipRiskAssessment) return undefined;
  if (facts.risk === null) return blocker('risk_unknown', 'the risk of this head is not known yet');
  const isSigned = facts.approvals.some(
    (approval) => approval.kind === 'human' && isCurrent(approval, facts) && !isContributor(approval, facts),
  );
  return facts.risk === 'critical' && !isSigned
    ? blocker('risk_critical', 'the change is critical and no human has approved this head')
    : undefined;
}

/** I1: an approval for exactly this head and base, by a human or agent that may give one (R-18, A6). */
function approvalBlocker(facts: LandingFacts): Blocker | undefined {
  const current = facts.approvals.filter((approval) => isCurrent(approval, facts));
  if (current.length === 0) return blocker('approval_missing', 'no approval is given for this head');
  const isGood = (approval: Approval): boolean => {
    if (isContributor(approval, facts)) return false;
    return (
      approval.kind === 'human' ||
      qualifies({ agent: approval.reviewer, family: approval.family }, facts.contributors, facts.topology)
    );
  };
  if (current.some(isGood)) return undefined;
  const needed = facts.topology === 'dual' ? 'an agent of another family' : 'another agent';
  return blocker(
    'approval_missing',
    `the approval of ${current[0]?.reviewer ?? ''} does not count; it has to come from ${needed} or a human without a part in the change`,
  );
}

function candidateBlocker(facts: LandingFacts): Blocker | undefined {
  const { candidate, requiredChecks } = facts;
  if (!candidate) return blocker('candidate_missing', 'the candidate is not built yet');
  if (candidate.headSha !== facts.headSha || candidate.baseTip !== facts.baseTip)
    return blocker('candidate_stale', 'head or base moved; a new candidate is needed');
  if (requiredChecks === 'none') return undefined;
  const missing = requiredChecks.filter((name) => !candidate.checks.some((check) => check.name === name));
  if (missing.length > 0)
    return blocker('checks_missing', `checks have not run on the candidate: ${missing.join(', ')}`);
  const red = candidate.checks.filter(
    (check) => requiredChecks.includes(check.name) && check.status !== 'passed' && check.status !== 'skipped',
  );
  return red.length > 0
    ? blocker('checks_red', `checks failed on the candidate: ${red.map((check) => check.name).join(', ')}`)
    : undefined;
}

function isCurrent(approval: Approval, facts: { headSha: string; baseRef: string }): boolean {
  return approval.headSha === facts.headSha && approval.baseRef === facts.baseRef;
}

function isContributor(approval: Approval, facts: LandingFacts): boolean {
  const kind = approval.kind === 'human' ? 'operator' : 'agent';
  return facts.contributors.some((one) => one.kind === kind && one.contributor === approval.reviewer);
}

function yesReason(facts: LandingFacts): string {
  if (facts.auto === 'none') return '';
  if (facts.needsHuman) return ': a path is touched that is always for a human';
  if (!facts.sandboxHolds) return ': automatic landing is off without a sandbox';
  return '';
}

function blocker(code: BlockerCode, message: string): Blocker {
  return { code, message };
}
