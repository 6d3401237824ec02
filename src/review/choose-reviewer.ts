import type { Contributor, Family } from './pull-request.ts';

/** An agent that is configured as reviewer, as it stands now. */
export interface ReviewerCandidate {
  agent: string;
  family: Family;
  isIdle: boolean;
  /** Its account is limited, or its program cannot be started: no supply now. */
  isLimited?: boolean;
  /** Epoch ms of its last review; null = never. */
  lastUsedAt: number | null;
}

/** `dual` when reviewers of at least two known families are configured, else `single` (P1, A2: configuration, not supply). */
export type Topology = 'dual' | 'single';

export function topologyOf(reviewers: readonly { family: Family }[]): Topology {
  return new Set(reviewers.map(({ family }) => family).filter((family) => family !== 'unknown')).size >= 2
    ? 'dual'
    : 'single';
}

/** What decides who may review one head. */
export interface ReviewerQuestion {
  contributors: readonly Contributor[];
  topology: Topology;
  reviewers: readonly ReviewerCandidate[];
  /** Families that gave a verdict on this head already: no second one (scenario 11). */
  verdictFamilies: readonly Family[];
  /** How often each agent lost its claim on this head without a verdict. */
  failedAttempts: Readonly<Record<string, number>>;
}

export type ReviewerChoice =
  | { kind: 'chosen'; reviewer: ReviewerCandidate }
  /** Somebody may, but not now: recorded as demand. */
  | { kind: 'wait'; families: readonly Family[] }
  /** Nobody who is configured may or can: a human has to. */
  | { kind: 'nobody'; reason: 'none_qualifies' | 'attempts_used_up' };

/** Claims on one head that one agent may lose before another is asked. */
export const maxAttempts = 2;

/** Whether this agent may ever review the change (R-9, R-12, R-18, P1 "Opposite"). */
export function qualifies(
  reviewer: { agent: string; family: Family },
  contributors: readonly Contributor[],
  topology: Topology,
): boolean {
  const agents = contributors.filter(({ kind }) => kind === 'agent');
  if (agents.some(({ contributor }) => contributor === reviewer.agent)) return false;
  if (topology === 'single') return true;
  return reviewer.family !== 'unknown' && agents.every(({ family }) => family !== reviewer.family);
}

/** Opposite family, no contributor, idle, least recently used (P3 `scan`). Pure. */
export function chooseReviewer(question: ReviewerQuestion): ReviewerChoice {
  const may = question.reviewers.filter(
    (reviewer) =>
      qualifies(reviewer, question.contributors, question.topology) &&
      !hasVerdict(reviewer.family, question.verdictFamilies),
  );
  if (may.length === 0) return { kind: 'nobody', reason: 'none_qualifies' };
  const willing = may.filter(({ agent }) => (question.failedAttempts[agent] ?? 0) < maxAttempts);
  if (willing.length === 0) return { kind: 'nobody', reason: 'attempts_used_up' };
  const [first] = willing
    .filter(({ isIdle, isLimited }) => isIdle && !isLimited)
    .toSorted(
      (a, b) =>
        (question.failedAttempts[a.agent] ?? 0) - (question.failedAttempts[b.agent] ?? 0) ||
        (a.lastUsedAt ?? 0) - (b.lastUsedAt ?? 0) ||
        (a.agent < b.agent ? -1 : 1),
    );
  if (first) return { kind: 'chosen', reviewer: first };
  return { kind: 'wait', families: [...new Set(willing.map(({ family }) => family))].toSorted() };
}

/** One known family reviews a head once; reviewers of unknown families are told apart by nothing, so none is held back for another. */
function hasVerdict(family: Family, families: readonly Family[]): boolean {
  return family !== 'unknown' && families.includes(family);
}

/**
 * How many reviewers are missing, by the families that would do (`claude|codex` → 2): what waits for somebody who qualifies,
 * minus those who are starting, at most `maxReviewers`. Pure (P3 `demand`, R-10).
 */
export function reviewerDemand(
  questions: readonly ReviewerQuestion[],
  supply: { starting: Readonly<Record<Family, number>>; maxReviewers: number },
): Record<string, number> {
  const starting = { ...supply.starting };
  const demand: Record<string, number> = {};
  let left = supply.maxReviewers;
  const taken = new Set<string>();
  for (const question of questions) {
    const reviewers = question.reviewers.map((one) => (taken.has(one.agent) ? { ...one, isIdle: false } : one));
    const choice = chooseReviewer({ ...question, reviewers });
    if (choice.kind === 'chosen') taken.add(choice.reviewer.agent);
    if (choice.kind !== 'wait' || left <= 0) continue;
    const coming = choice.families.find((family) => (starting[family] ?? 0) > 0);
    if (coming !== undefined) {
      starting[coming] = (starting[coming] ?? 0) - 1;
      continue;
    }
    const key = choice.families.join('|');
    demand[key] = (demand[key] ?? 0) + 1;
    left -= 1;
  }
  return demand;
}
