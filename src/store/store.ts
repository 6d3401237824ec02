import type { Kysely } from 'kysely';

import type { Actor, Clock, Json } from '../kernel/index.ts';
import type { EventKind } from './event-kinds/index.ts';
import type { StoreDialect } from './migrations/index.ts';
import type { Schema } from './schema/index.ts';

/** Something that happened, as a use case reports it. Facts hold ids, numbers and states, never free text (design 5). */
export interface NewEvent {
  kind: EventKind;
  actor: Actor;
  subject: { kind: string; id: string };
  projectId?: string;
  sessionId?: string;
  /** Id of the event that led to this one. */
  cause?: string;
  facts?: Record<string, Json>;
}

/** One open transaction; the first argument of every query and use case. No other I/O may happen while it is open. */
export interface Tx {
  readonly dialect: StoreDialect;
  readonly db: Kysely<Schema>;
  /** Epoch ms when the transaction began; the one "now" of the use case. */
  readonly now: number;
  /** Appends one event and gives its id. It is written at the end of the transaction, in the order of the calls. */
  emit(event: NewEvent): Promise<string>;
  /** After commit, wakes whoever listens to `topic`, here and on other nodes. A hint only: timers wake them anyway. */
  wake(topic: string, subject?: string): void;
  /** Waits for and holds the row (`FOR UPDATE` on PostgreSQL; SQLite has one writer). Order: project → job → task → session → quota. */
  lock(table: keyof Schema & string, id: string): Promise<void>;
}

/** The database behind everything. Source: design section 5. */
export interface Store {
  readonly dialect: StoreDialect;
  readonly clock: Clock;
  /**
   * Runs one use case as one transaction: commits when `fn` returns, rolls back when it throws or returns a `Refused`.
   * Retried whole on PostgreSQL's 40001 and 40P01 (5 times), so `fn` must be free of other effects. Throws `Error` when
   * nested, and on SQLite when `fn` waited for anything but the database.
   */
  tx<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** For reading outside a transaction: sees committed data only. Throws `Error` when used inside one. */
  readonly read: Kysely<Schema>;
  /** Calls `listener` with the subject after each wake-up of `topic`; returns the function that ends it. */
  onWake(topic: string, listener: (subject: string) => void): () => void;
  /** Resolves when every event committed before the call is sequenced, so that readers see it (at once on SQLite). */
  settled(): Promise<void>;
  /** Ends waiting work and closes every connection; safe twice. */
  close(): Promise<void>;
}

/** Woken whenever new sequenced events are readable. */
export const eventsTopic = 'events';
