import { z } from 'zod';

import { anyId, json, pageQuery, text, timestamp } from './fields.ts';

/** Whether an ordinary proof is enough, or the passphrase has to be given anew for this one act (design 4). */
export const proofClass = z.enum(['standing', 'fresh']);

export const decisionView = z.object({
  id: anyId,
  /** One of the kinds of design section 5. */
  kind: z.string(),
  subject: z.object({ kind: z.string(), id: z.string() }),
  projectId: anyId.nullable(),
  sessionId: anyId.nullable(),
  /** How often it was asked while open. */
  count: z.int(),
  /** One line, neutralised for display. */
  title: z.string(),
  /** What is needed to decide; its form depends on `kind`. */
  detail: json,
  /** The verbs that settle it. */
  verdicts: z.array(z.enum(['approve', 'refuse', 'respond'])),
  proof: proofClass,
  state: z.enum(['open', 'settled', 'void']),
  outcome: z.string().nullable(),
  settledBy: z.string().nullable(),
  createdAt: timestamp,
  settledAt: timestamp.nullable(),
});
export type DecisionView = z.infer<typeof decisionView>;

export const decisionQuery = pageQuery.extend({
  state: z.enum(['open', 'settled', 'void', 'all']).default('open'),
  kind: z.string().max(64).optional(),
  session: z.string().max(400).optional(),
});

/** A human's verdict. `text` is the answer of `respond`; `note` a reason kept with `approve` and `refuse`. */
export const verdictRequest = z.object({
  verdict: z.enum(['approve', 'refuse', 'respond']),
  text: z.string().max(20_000).optional(),
  note: text(500).optional(),
  /** For calls: this one call, or the capability for good. */
  scope: z.enum(['once', 'standing']).optional(),
  /** For a budget: by how much its cap is raised (`2M`, `$5`); approved without it, one turn may pass. */
  raise: z.string().max(64).optional(),
  /** For landings and human reviews: the head commit the human has seen; another head is refused. */
  head: z.string().max(64).optional(),
  /** For landings and human reviews: the human has read elsewhere what no client can show whole. */
  isSeenWhole: z.boolean().optional(),
});
export type VerdictRequest = z.infer<typeof verdictRequest>;

/** What came of a verdict: the settled decision and, for a landing, what happened to the base. */
export const settledView = z.object({
  decision: decisionView,
  replayed: z.boolean(),
  /** One sentence for the human. */
  message: z.string(),
});
export type SettledView = z.infer<typeof settledView>;
