import { CompiledQuery, type Kysely } from 'kysely';

import { canonicalJson, newId, sha256 } from '../kernel/index.ts';
import type { StoreDialect } from './migrations/index.ts';
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

const headQuery = CompiledQuery.raw(
  'select seq, hash from event where seq is not null order by seq desc limit 1',
) as CompiledQuery<{ seq: number; hash: string }>;

/** The newest sequenced event's place and hash. */
export async function readHead(db: Kysely<Schema>): Promise<{ seq: number; hash: string }> {
  const { rows } = await db.executeQuery(headQuery);
  const [head] = rows;
  return { seq: head?.seq ?? 0, hash: head?.hash ?? genesisHash };
}

/** An event at its place in the sequence. */
export type SequencedRow = UnsequencedRow & { seq: number; prev_hash: string; hash: string };

/** Gives each row, in order, its number and its link to the one before; `head` is the newest event so far. */
export function chainOn(head: { seq: number; hash: string }, rows: readonly UnsequencedRow[]): SequencedRow[] {
  let { seq, hash } = head;
  return rows.map((row) => {
    const previous = hash;
    seq += 1;
    hash = chainHash(previous, seq, row);
    return { ...row, seq, prev_hash: previous, hash };
  });
}

/** Appends events with their places in the sequence; only where one writer holds the database (SQLite). */
export async function appendSequenced(db: Kysely<Schema>, rows: readonly UnsequencedRow[]): Promise<void> {
  if (rows.length === 0) return;
  await insertEvents(db, 'sqlite', chainOn(await readHead(db), rows));
}

/** Appends events without their places; the sequencer gives them (PostgreSQL). */
export async function appendUnsequenced(db: Kysely<Schema>, rows: readonly UnsequencedRow[]): Promise<void> {
  await insertEvents(
    db,
    'postgres',
    rows.map((row) => ({ ...row, seq: null, prev_hash: null, hash: null })),
  );
}

const columns = [
  'seq',
  'id',
  'at',
  'actor_kind',
  'actor_id',
  'kind',
  'subject_kind',
  'subject_id',
  'project_id',
  'session_id',
  'cause',
  'facts',
  'prev_hash',
  'hash',
] as const;

/** Both databases limit the parameters of one statement. */
const rowsPerInsert = 500;

/** Written as text once: every use case comes through here, and building the query would cost more than running it. */
async function insertEvents(
  db: Kysely<Schema>,
  dialect: StoreDialect,
  rows: readonly Omit<EventRow, 'ord'>[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsPerInsert) {
    const some = rows.slice(from, from + rowsPerInsert);
    const values = some.flatMap((row) => columns.map((column) => row[column]));
    await db.executeQuery(CompiledQuery.raw(insertText(dialect, some.length), values));
  }
}

const texts = new Map<string, string>();

function insertText(dialect: StoreDialect, count: number): string {
  const key = `${dialect} ${count}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const place = (row: number, column: number): string =>
    dialect === 'sqlite' ? '?' : `$${row * columns.length + column + 1}`;
  const tuples = Array.from(
    { length: count },
    (_value, row) => `(${columns.map((_name, column) => place(row, column)).join(', ')})`,
  );
  const text = `insert into event (${columns.join(', ')}) values ${tuples.join(', ')}`;
  if (count <= 8) texts.set(key, text);
  return text;
}
