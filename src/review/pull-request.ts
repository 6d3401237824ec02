import type { MoveTable, PullRequestId } from '../kernel/index.ts';
import type { ContributorRow, PullRequestRow } from './rows.ts';

export type PullRequestState = PullRequestRow['state'];

/**
 * Moves of a pull request (P2). `awaiting_risk`: the rules judge the head. `awaiting_reviewer`: a reviewer is chosen. `reviewing`: the
 * claim ends with a verdict or is released. `changes_requested`: the author pushes. `approved`: a candidate is built, offered
 * and accepted. `queued`: a forge's merge queue (dequeued → `approved`). `landing`: the base is being moved. `hitl` and
 * `held`: only a human. `closed`: a new head or a human reopens it. `merged`, `restarted`: never left.
 */
export const pullRequestMoves: MoveTable<PullRequestState> = {
  awaiting_risk: ['awaiting_reviewer', 'hitl', 'held', 'closed', 'restarted'],
  awaiting_reviewer: [
    'awaiting_risk',
    'reviewing',
    'changes_requested',
    'approved',
    'hitl',
    'held',
    'closed',
    'restarted',
  ],
  reviewing: [
    'awaiting_risk',
    'awaiting_reviewer',
    'changes_requested',
    'approved',
    'hitl',
    'held',
    'closed',
    'restarted',
  ],
  changes_requested: ['awaiting_risk', 'awaiting_reviewer', 'approved', 'hitl', 'held', 'closed', 'restarted'],
  approved: [
    'awaiting_risk',
    'awaiting_reviewer',
    'changes_requested',
    'queued',
    'landing',
    'hitl',
    'held',
    'closed',
    'restarted',
  ],
  queued: ['approved', 'landing', 'hitl', 'held', 'closed'],
  landing: ['merged', 'approved', 'changes_requested', 'awaiting_risk', 'awaiting_reviewer', 'hitl'],
  merged: [],
  hitl: ['approved', 'awaiting_reviewer', 'changes_requested', 'held', 'closed', 'restarted'],
  held: ['awaiting_risk', 'awaiting_reviewer', 'changes_requested', 'approved', 'hitl', 'closed', 'restarted'],
  closed: ['awaiting_risk', 'awaiting_reviewer'],
  restarted: [],
};

/** Each state with who leaves it; the state page of the docs is made from this. */
export const pullRequestStateDocs: Readonly<Record<PullRequestState, string>> = {
  awaiting_risk: 'The rules judge the risk of the head. Left by their result.',
  awaiting_reviewer: 'A reviewer of another family is looked for. Left by a claim.',
  reviewing: 'A reviewer reads the change. Left by its verdict, or when its claim is released.',
  changes_requested: 'The author has the findings. Left by a new head.',
  approved: 'A candidate is built, checked and offered to a human. Left by landing, a red check, a new head.',
  queued: 'In the merge queue of a forge. Left by the forge.',
  landing: 'The base is being moved. Left by the outcome.',
  merged: 'On the base. Nothing leaves it; a revert is a pull request of its own.',
  hitl: 'Waits for a human; its agents are stopped. Only a human leaves it.',
  held: 'Set aside with a reason. Only a human leaves it.',
  closed: 'Over without landing. A new head or a human opens it again.',
  restarted: 'Given up for a fresh start of its task. Nothing leaves it.',
};

/** States in which something is still to come. */
export const openStates: readonly PullRequestState[] = [
  'awaiting_risk',
  'awaiting_reviewer',
  'reviewing',
  'changes_requested',
  'approved',
  'queued',
  'landing',
  'hitl',
  'held',
];

/** Woken with the pull request's id whenever it moved. */
export const pullRequestsTopic = 'pull-requests';

/** How much a change can break. Machines only raise it. */
export type ChangeRisk = 'low' | 'medium' | 'critical';
export const riskOrder: readonly ChangeRisk[] = ['low', 'medium', 'critical'];

export function higherRisk(a: ChangeRisk, b: ChangeRisk): ChangeRisk {
  return riskOrder.indexOf(a) >= riskOrder.indexOf(b) ? a : b;
}

/** Why a change has its risk. */
export interface RiskReason {
  /** `migration`, `ci`, `test_deleted`, `size`, … */
  code: string;
  level: ChangeRisk;
  /** On the list "Always by a human" (design 6). */
  needsHuman: boolean;
  /** At most 20. */
  paths: readonly string[];
  message: string;
}

/** A file of the change, and whether a review has to read it. */
export interface ChangedFile {
  path: string;
  mustRead: boolean;
}

/** Model family of an agent; `unknown` never counts as opposite. */
export type Family = string;

export interface Contributor {
  kind: 'agent' | 'operator';
  /** Codename of the agent or id of the operator. */
  contributor: string;
  family: Family;
}

/** A pull request as used; times in epoch ms. */
export interface PullRequest {
  id: PullRequestId;
  repositoryId: string;
  number: number;
  projectId: string | null;
  taskId: string | null;
  title: string;
  body: string;
  branch: string;
  baseRef: string;
  author: string;
  authorFamily: Family;
  state: PullRequestState;
  stateReason: string;
  heldFrom: PullRequestState | null;
  /** Change requests on distinct heads since the last reset; more than `maxRounds` needs a human (A7). */
  rounds: number;
  maxRounds: number;
  headSha: string;
  baseSha: string;
  patchId: string | null;
  risk: ChangeRisk | null;
  riskReasons: readonly RiskReason[];
  riskByHuman: ChangeRisk | null;
  needsHuman: boolean;
  files: readonly ChangedFile[];
  hitlAt: number | null;
  hitlReviewers: readonly string[];
  revertOf: string | null;
  createdAt: number;
  updatedAt: number;
  closedAt: number | null;
}

export function pullRequestOf(row: PullRequestRow): PullRequest {
  return {
    id: row.id as PullRequestId,
    repositoryId: row.repository_id,
    number: row.number,
    projectId: row.project_id,
    taskId: row.task_id,
    title: row.title,
    body: row.body,
    branch: row.branch,
    baseRef: row.base_ref,
    author: row.author,
    authorFamily: row.author_family,
    state: row.state,
    stateReason: row.state_reason,
    heldFrom: row.held_from,
    rounds: row.rounds,
    maxRounds: row.max_rounds,
    headSha: row.head_sha,
    baseSha: row.base_sha,
    patchId: row.patch_id,
    risk: row.risk,
    riskReasons: JSON.parse(row.risk_reasons) as RiskReason[],
    riskByHuman: row.risk_by_human as ChangeRisk | null,
    needsHuman: row.needs_human === 1,
    files: JSON.parse(row.files) as ChangedFile[],
    hitlAt: row.hitl_at,
    hitlReviewers: JSON.parse(row.hitl_reviewers) as string[],
    revertOf: row.revert_of,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    closedAt: row.closed_at,
  };
}

export function contributorOf(row: ContributorRow): Contributor {
  return { kind: row.kind, contributor: row.contributor, family: row.family };
}
