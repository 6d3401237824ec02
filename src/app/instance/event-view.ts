import { type Json, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { eventKinds, readEventBounds, readEvents, type SequencedRow, type Store } from '../../store/index.ts';
import type { EventPage, EventQuery, EventView } from '../../wire/index.ts';

/** One page of the log, narrowed in the store; an unknown kind is refused, so that a slip of the pen does not look like silence. */
export async function readEventPage(store: Store, query: EventQuery): Promise<Result<EventPage>> {
  const { after, limit, session, kind, newest = false } = query;
  if (kind !== undefined && !Object.hasOwn(eventKinds, kind))
    return refuse('invalid', 'unknown_event_kind', 'There is no such kind of event; docs/reference/events.md has all.');
  // Read first: an event that is written meanwhile comes with the next page instead of being passed over.
  const { head } = await readEventBounds(store);
  const rows = await readEvents(store, {
    after,
    limit,
    newest,
    ...(session === undefined ? {} : { sessionId: session }),
    ...(kind === undefined ? {} : { kind }),
  });
  const last = rows.at(-1)?.seq ?? after;
  const isFull = rows.length === limit && !newest;
  return ok({ items: rows.map(eventView), next: isFull ? last : Math.max(last, head), head: Math.max(last, head) });
}

/** One event as a client sees it. */
export function eventView(row: SequencedRow): EventView {
  return {
    seq: row.seq,
    id: row.id,
    at: toRfc3339(row.at),
    kind: row.kind,
    actor: { kind: row.actor_kind, id: row.actor_id },
    subject: { kind: row.subject_kind, id: row.subject_id },
    projectId: row.project_id,
    sessionId: row.session_id,
    cause: row.cause,
    facts: JSON.parse(row.facts) as Record<string, Json>,
    hash: row.hash,
  };
}
