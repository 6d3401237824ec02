import type { Store } from '../../store/index.ts';
import { bootId, isAlive } from '../host/index.ts';
import { withdrawWatched } from './answer-watched.ts';
import { endWatched } from './watched-store.ts';

/** A hook asks for its answer each 20 s at least; one that was silent for this long is gone, and its agent asks by itself. */
const hookGoneMs = 60_000;
/** A session without a known process is taken for ended after this long in silence. */
const silentMs = 24 * 3_600_000;

/** Ends the watched sessions of this node whose process is gone, and withdraws requests whose hook is. Gives how many sessions ended. */
export async function sweepWatched(store: Store, nodeId: string): Promise<number> {
  const living = await store.read
    .selectFrom('watched_session')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('ended_at', 'is', null)
    .execute();
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
    const silent = await store.read
      .selectFrom('watched_request')
      .select('id')
      .where('watched_session_id', '=', session.id)
      .where('state', '=', 'open')
      .where('kind', '!=', 'notice')
      .where('polled_at', '<', now - hookGoneMs)
      .execute();
    for (const { id } of silent) await store.tx((tx) => withdrawWatched(tx, id));
  }
  return ended;
}
