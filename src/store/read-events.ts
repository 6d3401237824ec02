import type { Kysely } from 'kysely';

import { genesisHash, type SequencedRow } from './events.ts';
import type { Schema } from './schema/index.ts';
import type { Store } from './store.ts';

/** Which sequenced events, oldest first. */
export interface EventQuery {
  /** Only events with a greater `seq`; default 0 = from the first. */
  after?: number;
  /** At most this many; default 200, at most 1000. */
  limit?: number;
  sessionId?: string;
  projectId?: string;
  subject?: { kind: string; id: string };
  /** Only events of this kind. */
  kind?: string;
  /** The last ones that fit instead of the first; still oldest first. */
  newest?: boolean;
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

/** Reads sequenced events in the order of `seq`, from committed data; `facts` is canonical JSON as stored. */
export async function readEvents(store: Store, query: EventQuery = {}): Promise<SequencedRow[]> {
  let select = store.read
    .selectFrom('event')
    .select(columns)
    .where('seq', '>', query.after ?? 0)
    .orderBy('seq', query.newest ? 'desc' : 'asc')
    .limit(Math.min(query.limit ?? 200, 1000));
  if (query.sessionId !== undefined) select = select.where('session_id', '=', query.sessionId);
  if (query.projectId !== undefined) select = select.where('project_id', '=', query.projectId);
  if (query.subject) {
    select = select.where('subject_kind', '=', query.subject.kind).where('subject_id', '=', query.subject.id);
  }
  if (query.kind !== undefined) select = select.where('kind', '=', query.kind);
  const rows = (await select.execute()) as SequencedRow[];
  return query.newest ? rows.toReversed() : rows;
}

/** The lowest and the highest `seq` that can be read (0 and 0 when there is none), with the newest hash: an anchor. */
export async function readEventBounds(store: Store): Promise<{ first: number; head: number; hash: string }> {
  const edge = (db: Kysely<Schema>, direction: 'asc' | 'desc') =>
    db.selectFrom('event').select(['seq', 'hash']).where('seq', 'is not', null).orderBy('seq', direction).limit(1);
  const [first, head] = [
    await edge(store.read, 'asc').executeTakeFirst(),
    await edge(store.read, 'desc').executeTakeFirst(),
  ];
  return { first: first?.seq ?? 0, head: head?.seq ?? 0, hash: head?.hash ?? genesisHash };
}
