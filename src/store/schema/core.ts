import type { Generated } from 'kysely';

/** The append-only event log (design 5). `seq`, `prev_hash` and `hash` are null only until sequenced (PostgreSQL). */
export interface EventRow {
  ord: Generated<number>;
  seq: number | null;
  id: string;
  at: number;
  actor_kind: string;
  actor_id: string;
  kind: string;
  subject_kind: string;
  subject_id: string;
  project_id: string | null;
  session_id: string | null;
  /** Id of the event that led to this one. */
  cause: string | null;
  /** Canonical JSON: ids, numbers, states and keyed HMACs; never free text. */
  facts: string;
  prev_hash: string | null;
  hash: string | null;
}

/** An outside effect that must happen after its transaction, at least once (design 5). */
export interface EffectRow {
  id: string;
  /** Deterministic; handed to the receiver so that it can tell a repetition. */
  key: string;
  kind: string;
  payload: string;
  state: 'pending' | 'done' | 'dead';
  /** Counted before each try, so that the bound holds over a crash in the middle of one. */
  attempts: number;
  not_before: number;
  /** The executor that tries it now, until `claimed_until` (then another may). */
  claimed_by: string | null;
  claimed_until: number | null;
  last_error: string | null;
  created_at: number;
  done_at: number | null;
}

/** What a mutating command answered under its key (S-7): kept until `expires_at`. */
export interface IdempotencyRow {
  scope: string;
  key: string;
  command: string;
  payload_hash: string;
  result: string;
  created_at: number;
  expires_at: number;
}

/** One lease; released rows stay as history (README 2.2 of the specification). */
export interface LeaseRow {
  id: string;
  resource_type: string;
  resource_id: string;
  slot: string;
  holder: string;
  fence: number;
  acquired_at: number;
  last_activity_at: number;
  /** Null = no expiry by time. */
  ttl_ms: number | null;
  released_at: number | null;
  reason: string | null;
}

/** One open question to a human, whatever it is about (design 5 "Decisions"). */
export interface DecisionRequestRow {
  id: string;
  kind: string;
  subject_kind: string;
  subject_id: string;
  project_id: string | null;
  session_id: string | null;
  /** At most one open row for each key; asked again, `count` grows. */
  dedupe_key: string;
  count: number;
  /** One line for a list; untrusted text, shown neutralised. */
  title: string;
  /** JSON with what is needed to decide. */
  detail: string;
  state: 'open' | 'settled' | 'void';
  outcome: string | null;
  outcome_detail: string | null;
  settled_by: string | null;
  created_at: number;
  settled_at: number | null;
}

export interface MigrationRow {
  name: string;
  /** 1 = an older binary must not open this database. */
  breaking: number;
  applied_at: number;
}

/** Small facts of the instance: keys of features, high-water marks, settings changed at run time. JSON values. */
export interface SettingRow {
  key: string;
  value: string;
  updated_by: string;
  updated_at: number;
}

export interface CoreSchema {
  event: EventRow;
  effect: EffectRow;
  idempotency_key: IdempotencyRow;
  lease: LeaseRow;
  decision_request: DecisionRequestRow;
  migration: MigrationRow;
  setting: SettingRow;
}
