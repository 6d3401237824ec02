import { z } from 'zod';

import { anyId, json, timestamp } from './fields.ts';
import { newAgent } from './work.ts';

/** One event of the log (design 5). */
export const eventView = z.object({
  seq: z.int(),
  id: anyId,
  at: timestamp,
  kind: z.string(),
  actor: z.object({ kind: z.string(), id: z.string() }),
  subject: z.object({ kind: z.string(), id: z.string() }),
  projectId: anyId.nullable(),
  sessionId: anyId.nullable(),
  cause: anyId.nullable(),
  facts: z.record(z.string(), json),
  hash: z.string(),
});
export type EventView = z.infer<typeof eventView>;

/**
 * `after`: the `seq` to go on from. `session`: only events of this session id. `newest`: the last `limit` that fit instead of
 * the first, still oldest first.
 */
export const eventQuery = z.object({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  session: z.string().max(128).optional(),
  kind: z.string().max(64).optional(),
  newest: z.stringbool().optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventPage = z.object({
  items: z.array(eventView),
  /** `seq` to ask for next: up to here nothing else fits. */
  next: z.int(),
  /** The newest `seq` of the log. */
  head: z.int(),
});
export type EventPage = z.infer<typeof eventPage>;

export const doctorReport = z.object({
  ok: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      status: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      /** What to do about it. */
      cure: z.string().nullable(),
    }),
  ),
});
export type DoctorReport = z.infer<typeof doctorReport>;

/** One setting with its value and where the value comes from; `Config.show` of `config` gives exactly this. */
export const settingView = z.object({
  name: z.string(),
  value: json,
  source: z.enum(['default', 'environment', 'operator']),
  default: json,
  /** What it may be, with its unit. */
  form: z.string(),
  help: z.string(),
  env: z.string().nullable(),
  change: z.enum(['operator', 'proof', 'fresh-proof', 'restart-only']),
});
export type SettingView = z.infer<typeof settingView>;

export const settingChange = z.object({ value: z.union([z.string().max(4096), z.number(), z.boolean()]) });

/** Settings and agents of the first run; the passphrase goes another way. */
export const initRequest = z.object({
  phase: z.int().min(1).max(4).optional(),
  sandbox: z.string().max(64).optional(),
  maxActive: z.int().min(1).max(64).optional(),
  agents: z.array(newAgent).max(32).optional(),
});
export type InitRequest = z.infer<typeof initRequest>;

export const initView = z.object({
  phase: z.int(),
  sandbox: z.object({ driver: z.string(), holds: z.boolean(), message: z.string() }),
  agents: z.array(z.string()),
  /** What is left to do, one line each. */
  next: z.array(z.string()),
});
export type InitView = z.infer<typeof initView>;

export const auditVerdict = z.object({
  ok: z.boolean(),
  checked: z.int(),
  head: z.object({ seq: z.int(), hash: z.string() }),
  /** The first event that was changed, removed or inserted. */
  firstFault: z
    .object({
      seq: z.int(),
      id: z.string().nullable(),
      fault: z.enum(['changed', 'removed', 'inserted', 'cut', 'rewritten']),
      message: z.string(),
    })
    .nullable(),
});
export type AuditVerdict = z.infer<typeof auditVerdict>;

/** What of the event log to export. */
export const auditExportQuery = z.object({
  /** The events as they stand, what was refused (S7.4), or the events with questions and answers as keyed hashes (S-63). */
  view: z.enum(['events', 'rejections', 'evidence']).default('events'),
  from: z.coerce.number().int().min(1).default(1),
  to: z.coerce.number().int().min(1).optional(),
});
export type AuditExportQuery = z.infer<typeof auditExportQuery>;

export const backupRequest = z.object({ path: z.string().max(4096).optional() });
export const backupView = z.object({
  path: z.string(),
  createdAt: z.string(),
  /** `postgres`: the database is not in it, `pg_dump` makes its part. */
  database: z.enum(['sqlite', 'postgres']),
  files: z.int(),
  bytes: z.int(),
  /** The anchor of its event log; kept elsewhere it shows a rewritten copy. */
  head: z.object({ seq: z.int(), hash: z.string() }),
  notIncluded: z.array(z.string()),
});
export type BackupView = z.infer<typeof backupView>;

export const downRequest = z.object({ stopAgents: z.boolean().default(false) });
export const downView = z.object({
  /** Sessions whose agents go on without the server. */
  goOn: z.array(z.object({ sessionId: anyId, workKey: z.string() })),
  stopped: z.array(z.object({ sessionId: anyId, workKey: z.string() })),
});
export type DownView = z.infer<typeof downView>;
