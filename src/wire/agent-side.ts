import { z } from 'zod';

import { anyId, longText, shortText, text, timestamp } from './fields.ts';
import { taskView } from './work.ts';

/** What agents send and get, over `chantier mcp` (design 7). The caller is always the session of the token. */
export const statusReport = z.object({
  /** What the agent is doing, one or two sentences. */
  text: shortText,
  percent: z.number().min(0).max(100).optional(),
});
export type StatusReport = z.infer<typeof statusReport>;

/** "Heard": what the session should know at once. */
export const heardView = z.object({ state: z.string(), message: z.string() });
export type HeardView = z.infer<typeof heardView>;

export const question = z.object({ text: longText });
export const questionView = z.object({
  id: anyId,
  status: z.enum(['OPEN', 'ANSWERED', 'CLOSED']),
  answer: z.string().nullable(),
  /** Why it was closed without an answer. */
  closeReason: z.string().nullable(),
});
export type QuestionView = z.infer<typeof questionView>;

/** Waits at most `waitMs` (0 to 60 000) for the answer. */
export const waitQuery = z.object({ waitMs: z.coerce.number().int().min(0).max(60_000).default(8000) });

export const checkpoint = z.object({
  name: text(128),
  result: z.enum(['passed', 'failed', 'info']),
  summary: shortText.optional(),
});
export type Checkpoint = z.infer<typeof checkpoint>;

export const completion = z.object({ summary: longText });
export const completionView = z.object({
  /** Number of the pull request that was opened or updated. */
  pullRequest: z.int().nullable(),
  message: z.string(),
});
export type CompletionView = z.infer<typeof completionView>;

/** A reviewer's verdict; a finding blocks only with file, line and scenario. */
export const reviewSubmission = z.object({
  verdict: z.enum(['approve', 'request_changes']),
  summary: longText,
  findings: z
    .array(
      z.object({
        file: z.string().max(4096).optional(),
        line: z.int().positive().optional(),
        text: longText,
        /** How it fails: input, steps, wrong result. */
        scenario: longText.optional(),
      }),
    )
    .max(100)
    .default([]),
  /** Files of the change that were really read; an approval that leaves one out does not count. */
  coverage: z.array(z.string().max(4096)).max(10_000).default([]),
});
export type ReviewSubmission = z.infer<typeof reviewSubmission>;
export const reviewReceipt = z.object({
  blocking: z.int(),
  notes: z.int(),
  isBinding: z.boolean(),
  message: z.string(),
});
export type ReviewReceipt = z.infer<typeof reviewReceipt>;

export const peerView = z.object({
  endpointId: z.string(),
  /** Null for a client of the claude-peers port. */
  workKey: z.string().nullable(),
  agent: z.string(),
  summary: z.string().nullable(),
  lastSeenAt: timestamp.nullable(),
  /** Not one of our sessions: somebody's own process on this machine. */
  outside: z.boolean(),
});
export type PeerView = z.infer<typeof peerView>;

export const outgoingMessage = z.object({ to: text(128), text: longText });
export const messageView = z.object({
  id: anyId,
  from: z.string(),
  type: z.string(),
  text: z.string(),
  at: timestamp,
});
export type MessageView = z.infer<typeof messageView>;
export const sentView = z.object({ id: anyId });

/** Ids that were read and shall not come again. */
export const messageQuery = z.object({ ack: z.array(anyId).max(500).default([]) });

export const summaryChange = z.object({ text: shortText });
export const readyQuery = z.object({ limit: z.coerce.number().int().min(1).max(50).default(10) });

export const claimView = z.object({
  task: taskView,
  /** What to do, with context and rules. */
  brief: z.string(),
  fence: z.int(),
});
export type ClaimView = z.infer<typeof claimView>;

/** What an agent may change on the task it holds. */
export const agentTaskChange = z.object({
  note: shortText.optional(),
  tokenEstimate: z.int().positive().max(100_000_000).optional(),
});
export type AgentTaskChange = z.infer<typeof agentTaskChange>;
