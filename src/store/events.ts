import type { Kysely } from 'kysely';

import { canonicalJson, newId, sha256 } from '../kernel/index.ts';
import type { EventRow } from './schema/core.ts';
import type { Schema } from './schema/index.ts';
import type { NewEvent } from './store.ts';

/** `prev_hash` of the very first event. */
export const genesisHash = '0'.repeat(64);

/** The row of an event before it has its place in the sequence. */
export type UnsequencedRow = Omit<EventRow, 'ord' | 'seq' | 'prev_hash' | 'hash'>;

/** Turns a reported event into its row; the facts become canonical JSON. */
export function eventRow(event: NewEvent, at: number): UnsequencedRow {
  return {
    id: newId(),
    at,
    actor_kind: event.actor.kind,
    actor_id: event.actor.id,
    kind: event.kind,
    subject_kind: event.subject.kind,
    subject_id: event.subject.id,
    project_id: event.projectId ?? null,
    session_id: event.sessionId ?? null,
    cause: event.cause ?? null,
    facts: canonicalJson(event.facts ?? {}),
  };
}

/** The hash of an event at its place: over the previous hash, the number and the canonical row. Source: design section 5. */
export function chainHash(previous: string, seq: number, row: UnsequencedRow): string {
  const { id, at, actor_kind, actor_id, kind, subject_kind, subject_id, project_id, session_id, cause, facts } = row;
  const canonical = canonicalJson({
    seq,
    id,
    at,
    actor_kind,
    actor_id,
    kind,
    subject_kind,
    subject_id,
    project_id,
    session_id,
    cause,
    facts,
  });
  return sha256(`${previous}\n${canonical}`);
}

/** The newest sequenced event's place and hash. */
export async function readHead(db: Kysely<Schema>): Promise<{ seq: number; hash: string }> {
  const head = await db
    .selectFrom('event')
    .select(['seq', 'hash'])
    .where('seq', 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { seq: head?.seq ?? 0, hash: head?.hash ?? genesisHash };
}

/** Appends an event with its place in the sequence; only where one writer holds the database (SQLite). */
export async function appendSequenced(db: Kysely<Schema>, event: NewEvent, at: number): Promise<string> {
  const row = eventRow(event, at);
  const head = await readHead(db);
  const seq = head.seq + 1;
  const hash = chainHash(head.hash, seq, row);
  await db
    .insertInto('event')
    .values({ ...row, seq, prev_hash: head.hash, hash })
    .execute();
  return row.id;
}
