import type { Store } from '../../store/index.ts';
import { bootId, isAlive } from '../host/index.ts';
import { withdrawWatched } from './answer-watched.ts';
import { endWatched } from './watched-store.ts';

/** A hook asks for its answer each 20 s at least; one that was silent for this long is gone, and its agent asks by itself. */
const hookGoneMs = 60_000;
/** A session without a known process is taken for ended after this long in silence. */
const silentMs = 24 * 3_600_000;

/** When the hook of a request was seen to ask, by request: the time that it had noted, and ours since when that stands. */
export type HeardHooks = Map<string, { polledAt: number; sinceMs: number }>;

/**
 * Ends the watched sessions of this node whose process is gone, and withdraws requests whose hook is. Gives how many sessions
 * ended. Silence counts only while somebody looked, so `heard` is kept from one look to the next: a hook that waited out a
 * restart, or slept with the machine, asks again and still gets its answer.
 */
export async function sweepWatched(store: Store, nodeId: string, heard: HeardHooks): Promise<number> {
  const living = await store.read
    .selectFrom('watched_session')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('ended_at', 'is', null)
    .execute();
  const waiting = new Set<string>();
  let ended = 0;
  for (const session of living) {
    const now = store.clock.now();
    const isGone =
      session.pid === null || session.pid_started === null
        ? now - session.seen_at > silentMs
        : session.boot_id !== bootId() || !isAlive({ pid: session.pid, startTime: session.pid_started });
    if (isGone) {
      ended += 1;
      await store.tx((tx) => endWatched(tx, session.id));
      continue;
    }
    if (session.state !== 'waiting') continue;
    const open = await store.read
      .selectFrom('watched_request')
      .select(['id', 'polled_at'])
      .where('watched_session_id', '=', session.id)
      .where('state', '=', 'open')
      .where('kind', '!=', 'notice')
      .execute();
    const silent = open.filter((request) => isSilent(heard, request, store.clock.monotonic()));
    for (const { id } of open) waiting.add(id);
    for (const { id } of silent) await store.tx((tx) => withdrawWatched(tx, id));
  }
  for (const id of heard.keys()) if (!waiting.has(id)) heard.delete(id);
  return ended;
}

function isSilent(heard: HeardHooks, request: { id: string; polled_at: number }, nowMs: number): boolean {
  const polledAt = request.polled_at;
  const known = heard.get(request.id);
  if (known?.polledAt === polledAt) return nowMs - known.sinceMs >= hookGoneMs;
  heard.set(request.id, { polledAt, sinceMs: nowMs });
  return false;
}
