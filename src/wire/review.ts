import { z } from 'zod';

import { anyId, pageQuery, shortText, text, timestamp } from './fields.ts';
import { estimateView, spendingView } from './spending.ts';

export const changeRisk = z.enum(['low', 'medium', 'critical']);

export const pullRequestState = z.enum([
  'open',
  'in-review',
  'changes-requested',
  'approved',
  'human-review',
  'landing',
  'landed',
  'closed',
]);

export const findingView = z.object({
  file: z.string().nullable(),
  line: z.int().nullable(),
  text: z.string(),
  scenario: z.string().nullable(),
  /** Only a finding with file, line and scenario blocks; the rest are notes. */
  isBlocking: z.boolean(),
});

export const verdictView = z.object({
  id: anyId,
  reviewer: z.string(),
  family: z.string(),
  verdict: z.enum(['approve', 'request_changes']),
  summary: z.string(),
  findings: z.array(findingView),
  headCommit: z.string(),
  /** False when it came from an unsandboxed reviewer, or the head moved. */
  isBinding: z.boolean(),
  createdAt: timestamp,
});
export type VerdictView = z.infer<typeof verdictView>;

export const checkView = z.object({
  name: z.string(),
  status: z.enum(['passed', 'failed', 'timed-out', 'skipped', 'running']),
  /** Null: it ran nothing, or was ended by a signal or its time limit. */
  exitCode: z.int().nullable(),
  /** How long it ran, in ms; null: it ran nothing. */
  durationMs: z.number().nullable(),
  outputTail: z.string().nullable(),
});

export const pullRequestView = z.object({
  id: anyId,
  number: z.int(),
  repositoryId: anyId,
  repository: z.string(),
  taskId: anyId.nullable(),
  title: z.string(),
  body: z.string(),
  author: z.string(),
  branch: z.string(),
  base: z.string(),
  headCommit: z.string(),
  baseCommit: z.string(),
  state: pullRequestState,
  risk: changeRisk.nullable(),
  riskReasons: z.array(z.string()),
  round: z.int(),
  maxRounds: z.int(),
  reviewer: z.string().nullable(),
  verdicts: z.array(verdictView),
  checks: z.array(checkView),
  /** Why it has not landed, in one sentence; null when it has. */
  waitsFor: z.string().nullable(),
  landingId: anyId.nullable(),
  decisionId: anyId.nullable(),
  /** What the change has cost: its task and its reviews. */
  spending: spendingView,
  estimate: estimateView.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type PullRequestView = z.infer<typeof pullRequestView>;

export const diffView = z.object({
  number: z.int(),
  baseCommit: z.string(),
  headCommit: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      oldPath: z.string().nullable(),
      status: z.enum(['added', 'modified', 'deleted', 'renamed', 'copied', 'type-changed']),
      added: z.int().nullable(),
      removed: z.int().nullable(),
      isBinary: z.boolean(),
      /** Unified diff of the file, whole, with everything invisible written out; null when binary or not shown. */
      patch: z.string().nullable(),
      /** Why the patch is not here whole; null when it is, or when the file is binary. */
      notShown: z.string().nullable(),
      /** Why this path is always for a human; null when it is not. */
      humanOnly: z.string().nullable(),
    }),
  ),
  /** Some file cannot be shown whole: a yes needs `isSeenWhole`. */
  isTruncated: z.boolean(),
  /** What is not shown, and how to see it; null when all is here. */
  reason: z.string().nullable(),
});
export type DiffView = z.infer<typeof diffView>;

export const landingView = z.object({
  id: anyId,
  pullRequest: z.int(),
  repositoryId: anyId,
  mode: z.enum(['base', 'branch', 'pull-request']),
  method: z.string(),
  state: z.enum(['waiting', 'checking', 'landing', 'landed', 'refused', 'failed']),
  candidateCommit: z.string().nullable(),
  baseBefore: z.string().nullable(),
  /** The commit that landed. */
  commit: z.string().nullable(),
  checks: z.array(checkView),
  /** What was or was not done in the operator's own checkout, and the one command if there is something to do. */
  checkout: z
    .object({ effect: z.enum(['fast-forwarded', 'unchanged']), message: z.string(), command: z.string().nullable() })
    .nullable(),
  /** Commands that push the reviewed branch (mode `branch`). */
  commands: z.array(z.string()),
  message: z.string(),
  landedBy: z.string().nullable(),
  createdAt: timestamp,
  endedAt: timestamp.nullable(),
});
export type LandingView = z.infer<typeof landingView>;

export const pullRequestQuery = pageQuery.extend({
  state: pullRequestState.optional(),
  repository: z.string().max(128).optional(),
  open: z.stringbool().optional(),
});

/** A head commit that a human has seen, whole or its first 7 characters and more. */
const seenHead = z.string().regex(/^[0-9a-f]{7,64}$/, 'is no commit id of at least 7 characters');

/**
 * A human's act on a pull request in human review. `approve` binds to `head`, the commit that was seen; another head is refused.
 * `isSeenWhole` says that the human has read elsewhere what no client can show whole.
 */
export const humanAct = z.object({
  act: z.enum(['approve', 'retry', 'abandon']),
  note: text(4000).optional(),
  head: seenHead.optional(),
  isSeenWhole: z.boolean().optional(),
});
export type HumanAct = z.infer<typeof humanAct>;

/** `head` is the head commit the human has seen; without it, or at another head, nothing lands. */
export const landRequest = z.object({
  head: seenHead.optional(),
  isSeenWhole: z.boolean().optional(),
  wait: z.boolean().default(true),
});
export type LandRequest = z.infer<typeof landRequest>;

export const revertRequest = z.object({ reason: shortText });
export type RevertRequest = z.infer<typeof revertRequest>;
