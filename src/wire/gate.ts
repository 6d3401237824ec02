import { z } from 'zod';

import { anyId, json, pageQuery, text, timestamp } from './fields.ts';

/** A capability as a client sees it (G-1, G-3). */
export const capabilityView = z.object({
  id: anyId,
  type: z.string(),
  name: z.string(),
  server: z.string(),
  version: z.string(),
  tier: z.enum(['read-only', 'reversible', 'privileged']),
  status: z.enum(['provisional', 'approved', 'refused', 'blocked']),
  expiresAt: timestamp.nullable(),
  execCount: z.int(),
  commitLink: z.string().nullable(),
  docLink: z.string().nullable(),
  decidedBy: z.string().nullable(),
  decidedAt: timestamp.nullable(),
  decisionNote: z.string().nullable(),
  createdAt: timestamp,
});
export type CapabilityView = z.infer<typeof capabilityView>;

/** One invocation of a capability. */
export const callView = z.object({
  id: anyId,
  capabilityId: anyId.nullable(),
  sessionId: anyId.nullable(),
  verdict: z.enum(['allow', 'refuse', 'waiting']),
  reason: z.string(),
  /** Whole and neutralised, or null where it is not kept. */
  preview: json,
  outcome: z.enum(['ok', 'error', 'timeout', 'unknown']).nullable(),
  createdAt: timestamp,
  endedAt: timestamp.nullable(),
});
export type CallView = z.infer<typeof callView>;

export const capabilityDetail = capabilityView.extend({
  definition: json,
  calls: z.array(callView),
});
export type CapabilityDetail = z.infer<typeof capabilityDetail>;

export const capabilityQuery = pageQuery.extend({
  status: z.enum(['provisional', 'approved', 'refused', 'blocked']).optional(),
});

/** A standing verdict on a capability (G-19); reinstating a refused one needs a note. */
export const capabilityVerdict = z.object({ verdict: z.enum(['approve', 'refuse']), note: text(500).optional() });
export type CapabilityVerdict = z.infer<typeof capabilityVerdict>;
