import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Kysely } from 'kysely';

import { genesisHash, type SequencedRow } from './events.ts';
import type { Schema } from './schema/index.ts';
import { eventsTopic, type Store } from './store.ts';

/** Which sequenced events, oldest first. */
export interface EventQuery {
  /** Only events with a greater `seq`; default 0 = from the first. */
  after?: number;
  /** At most this many; default 200, at most 1000. */
  limit?: number;
  sessionId?: string;
  projectId?: string;
  subject?: { kind: string; id: string };
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
    .orderBy('seq')
    .limit(Math.min(query.limit ?? 200, 1000));
  if (query.sessionId !== undefined) select = select.where('session_id', '=', query.sessionId);
  if (query.projectId !== undefined) select = select.where('project_id', '=', query.projectId);
  if (query.subject) {
    select = select.where('subject_kind', '=', query.subject.kind).where('subject_id', '=', query.subject.id);
  }
  return (await select.execute()) as SequencedRow[];
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

/** A running `followEvents`. */
export interface Following {
  /** Ends it; `onEvent` is not called any more once this has resolved. */
  stop(): Promise<void>;
}

const pageSize = 500;
/** Looks this often without being woken. */
const pollMs = 5000;

/**
 * Calls `onEvent` for every sequenced event after `after`, replayed first and then live, each once and in order; waits for
 * the promise it returns before the next (so a slow reader holds back only itself). `filter` narrows as `readEvents` does.
 * An error of `onEvent` ends the following and goes to `onEnd`; a failed read is tried again.
 */
export function followEvents(
  store: Store,
  after: number,
  onEvent: (event: SequencedRow) => void | Promise<void>,
  options: { filter?: Pick<EventQuery, 'sessionId' | 'projectId' | 'subject'>; onEnd?: (error: unknown) => void } = {},
): Following {
  let position = after;
  let stopped = false;
  let again = false;
  let running: Promise<void> | undefined;
  const unlisten = store.onWake(eventsTopic, look);
  const timer = setInterval(look, pollMs);
  look();

  function look(): void {
    again = true;
    running ??= readOn().finally(() => {
      running = undefined;
      if (again && !stopped) look();
    });
  }

  async function readOn(): Promise<void> {
    while (again && !stopped) {
      again = false;
      const page = await readEvents(store, { ...options.filter, after: position, limit: pageSize }).catch(() => []);
      if (page.length === pageSize) again = true;
      try {
        for (const event of page) {
          if (stopped) return;
          position = event.seq;
          await onEvent(event);
        }
        // SQLite answers without waiting: let others have a turn between pages.
        if (again) await nextTurn();
      } catch (error) {
        end();
        options.onEnd?.(error);
      }
    }
  }

  function end(): void {
    stopped = true;
    unlisten();
    clearInterval(timer);
  }

  return {
    async stop() {
      end();
      await running;
    },
  };
}
