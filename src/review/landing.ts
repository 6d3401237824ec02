import type { Json, LandingId, MoveTable } from '../kernel/index.ts';
import type { LandingRow } from './rows.ts';

export type LandingState = LandingRow['state'];

/**
 * Moves of a landing (P3 `land`). `building`: the candidate is made and checked. `offered`: a human says yes or no, or head or base move.
 * `prepared`: accepted and written down before the base is moved. `unknown`: nobody saw the outcome; ancestry of the candidate
 * decides. `landed`, `failed`, `withdrawn`: ended.
 */
export const landingMoves: MoveTable<LandingState> = {
  building: ['offered', 'prepared', 'failed', 'withdrawn'],
  offered: ['prepared', 'failed', 'withdrawn'],
  prepared: ['landed', 'failed', 'unknown'],
  unknown: ['unknown', 'landed', 'failed'],
  landed: [],
  failed: [],
  withdrawn: [],
};

/** Each state with who leaves it; the state page of the docs is made from this. */
export const landingStateDocs: Readonly<Record<LandingState, string>> = {
  building: 'The candidate commit is made and its checks run. Left by their result.',
  offered: 'A human sees diff, checks and the exact effect. Left by their yes or no, or when head or base move.',
  prepared: 'Accepted, and written down before the base moves. Left by the compare-and-set.',
  unknown:
    'Nobody saw the outcome. Left by looking whether the base contains the candidate; after 3 looks a human does.',
  landed: 'The candidate is on the base. Over.',
  failed: 'Ended without effect; the reason is kept. Over.',
  withdrawn: 'Lost its point before a yes: refused, closed, or head or base moved. Over.',
};

/** Woken with the landing's id whenever it moved. */
export const landingsTopic = 'landings';
/** Looks at an unknown outcome before a human has to. */
export const maxUnknownReads = 3;
/** Tries for one head that failed by the machine's fault before a human has to look (I5). */
export const maxLandingErrors = 3;
/** Clean landings by a human after which `land.auto` is offered (design 6). */
export const autoLandingAfter = 5;

/** One check on the candidate. */
export interface CheckResult {
  name: string;
  status: 'passed' | 'failed' | 'timed-out' | 'skipped';
  /** Where its log lies. */
  logPath?: string;
}

/** What lands without asking: nothing, or changes up to this risk; never critical ones. */
export type AutoLanding = 'none' | 'low' | 'medium';

/** One try to land; times in epoch ms. */
export interface Landing {
  id: LandingId;
  pullRequestId: string;
  repositoryId: string;
  mode: LandingRow['mode'];
  method: LandingRow['method'];
  state: LandingState;
  expectedHead: string;
  baseRef: string;
  baseTip: string | null;
  candidate: string | null;
  tree: string | null;
  checks: readonly CheckResult[];
  /** What the human was shown. */
  effect: Json;
  effectDigest: string | null;
  decisionId: string | null;
  acceptedBy: string | null;
  acceptedAt: number | null;
  landedCommit: string | null;
  /** What followed outside the store, once it is known. */
  aftermath: Json | null;
  reason: string | null;
  unknownReads: number;
  isClean: boolean;
  createdAt: number;
  endedAt: number | null;
}

export function landingOf(row: LandingRow): Landing {
  return {
    id: row.id as LandingId,
    pullRequestId: row.pull_request_id,
    repositoryId: row.repository_id,
    mode: row.mode,
    method: row.method,
    state: row.state,
    expectedHead: row.expected_head,
    baseRef: row.base_ref,
    baseTip: row.base_tip,
    candidate: row.candidate,
    tree: row.tree,
    checks: JSON.parse(row.checks) as CheckResult[],
    effect: JSON.parse(row.effect) as Json,
    effectDigest: row.effect_digest,
    decisionId: row.decision_id,
    acceptedBy: row.accepted_by,
    acceptedAt: row.accepted_at,
    landedCommit: row.landed_commit,
    aftermath: row.aftermath === null ? null : (JSON.parse(row.aftermath) as Json),
    reason: row.reason,
    unknownReads: row.unknown_reads,
    isClean: row.is_clean === 1,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
