import { z } from 'zod';

import { anyId, json, timestamp } from './fields.ts';

/** What a hook of a session that was started by hand sends: what the agent gave it, and which process the agent is. */
export const watchedHook = z.object({
  agent: z.enum(['claude', 'codex', 'gemini']),
  input: json,
  /** Made by the hook; sent again with it, nothing happens twice. */
  requestId: z.uuid(),
  process: z.object({ pid: z.int().positive(), startTime: z.int().min(0), bootId: z.string().max(64) }).optional(),
});
export type WatchedHookRequest = z.infer<typeof watchedHook>;

/** What the hook does next. `holdMs`: at most so long, `null`: as long as its agent lets it. */
export const hookOrder = z.discriminatedUnion('wait', [
  z.object({ wait: z.literal(false) }),
  z.object({ wait: z.literal(true), requestId: anyId, holdMs: z.int().min(0).nullable() }),
]);
export type HookOrderView = z.infer<typeof hookOrder>;

export const watchedWaitQuery = z.object({ waitMs: z.coerce.number().int().min(0).max(30_000).default(0) });

/** `output` is what the hook prints for its agent. */
export const watchedOutcome = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['open', 'void']) }),
  z.object({ state: z.literal('answered'), output: json }),
]);
export type WatchedOutcomeView = z.infer<typeof watchedOutcome>;

/** A living session that a human started by hand. */
export const watchedSessionView = z.object({
  id: anyId,
  agent: z.string(),
  folder: z.string(),
  state: z.enum(['idle', 'working', 'waiting']),
  /** `notice`: only the agent's own terminal can answer it. */
  waitsFor: z.array(
    z.object({
      kind: z.enum(['permission', 'question', 'notice']),
      tool: z.string(),
      decisionId: anyId.nullable(),
    }),
  ),
  startedAt: timestamp,
  lastSeenAt: timestamp,
});
export type WatchedSessionView = z.infer<typeof watchedSessionView>;
