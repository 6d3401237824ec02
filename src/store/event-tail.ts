import type { SequencedRow } from './events.ts';
import { type EventQuery, readEventBounds, readEvents } from './read-events.ts';
import type { Store } from './store.ts';

/** What a follower asks for; all conditions must hold. */
export type EventFilter = Pick<EventQuery, 'sessionId' | 'projectId' | 'subject'>;

/** Some events in order, and the place up to which there are no others that fit. */
export interface TailPage {
  rows: SequencedRow[];
  upTo: number;
  /** Whether more may be there right now. */
  isFull: boolean;
}

/** The newest events of a store in memory, read once for all who follow it. */
export interface EventTail {
  read(after: number, filter: EventFilter): Promise<TailPage>;
}

const kept = 2000;
const pageSize = 500;

const tails = new WeakMap<Store, EventTail>();

/** The tail of a store, shared by everybody: a hundred followers cost one query for each new event, not a hundred. */
export function eventTailOf(store: Store): EventTail {
  const known = tails.get(store);
  if (known) return known;
  const tail = createEventTail(store);
  tails.set(store, tail);
  return tail;
}

function createEventTail(store: Store): EventTail {
  let rows: SequencedRow[] = [];
  /** Every event after `from` and up to `head` is in `rows`; undefined until somebody asks. */
  let span: { from: number; head: number } | undefined;
  let reading: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  /** Reads what is committed by now; one reading at a time, and all who come during it share the next one. */
  function refresh(): Promise<void> {
    if (!reading) return (reading = readOn().finally(() => (reading = undefined)));
    next ??= reading
      .catch(() => {})
      .then(() => {
        next = undefined;
        return refresh();
      });
    return next;
  }

  async function readOn(): Promise<void> {
    if (!span) {
      const { head } = await readEventBounds(store);
      span = { from: head, head };
      return;
    }
    for (;;) {
      const page = await readEvents(store, { after: span.head, limit: pageSize });
      rows.push(...page);
      span.head = page.at(-1)?.seq ?? span.head;
      if (rows.length > kept) {
        rows = rows.slice(-kept);
        span.from = (rows[0]?.seq ?? 1) - 1;
      }
      if (page.length < pageSize) return;
    }
  }

  return {
    async read(after, filter) {
      await refresh();
      if (!span || after < span.from) {
        const page = await readEvents(store, { ...filter, after, limit: pageSize });
        return { rows: page, upTo: page.at(-1)?.seq ?? after, isFull: page.length > 0 };
      }
      const upTo = Math.max(after, span.head);
      return { rows: rows.slice(firstAfter(rows, after)).filter((row) => fits(row, filter)), upTo, isFull: false };
    },
  };
}

/** Rows have consecutive numbers, so the place is a subtraction. */
function firstAfter(rows: readonly SequencedRow[], after: number): number {
  return Math.max(0, after + 1 - (rows[0]?.seq ?? 0));
}

function fits(row: SequencedRow, { sessionId, projectId, subject }: EventFilter): boolean {
  return (
    (sessionId === undefined || row.session_id === sessionId) &&
    (projectId === undefined || row.project_id === projectId) &&
    (subject === undefined || (row.subject_kind === subject.kind && row.subject_id === subject.id))
  );
}
