import type { Json } from '../../kernel/index.ts';
import type { EventKind, Store } from '../../store/index.ts';
import type { SessionRow } from '../session-store.ts';
import type { AttachedSessions } from './attached.ts';
import { supervisorActor } from './crash.ts';

/** A difference between what the store says and what this server holds (S-46). */
export interface PeerGap {
  sessionId: string;
  /** `held_without_session`: an agent is held whose session is not live. `session_without_peer`: the reverse. */
  difference: 'held_without_session' | 'session_without_peer';
}

/** Pure: the differences, ended sessions left out (S-11). `rows` are those that are not wound up. */
export function findGaps(rows: readonly SessionRow[], held: AttachedSessions): PeerGap[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const gaps: PeerGap[] = [];
  for (const [sessionId, attached] of held) {
    const row = byId.get(sessionId);
    const isKnown = row?.generation === attached.generation && row.process !== 'ended';
    if (!isKnown) gaps.push({ sessionId, difference: 'held_without_session' });
  }
  for (const row of rows)
    if (row.process === 'live' && held.get(row.id)?.generation !== row.generation)
      gaps.push({ sessionId: row.id, difference: 'session_without_peer' });
  return gaps;
}

/**
 * The differences that stand: found twice, the second time in rows read anew. One look alone compares rows with hands that
 * have moved on since the rows were read.
 */
export async function standingGaps(
  readRows: () => Promise<readonly SessionRow[]>,
  held: AttachedSessions,
): Promise<PeerGap[]> {
  const first = findGaps(await readRows(), held);
  if (first.length === 0) return [];
  const seen = new Set(first.map(keyOf));
  return findGaps(await readRows(), held).filter((gap) => seen.has(keyOf(gap)));
}

function keyOf({ sessionId, difference }: PeerGap): string {
  return `${difference} ${sessionId}`;
}

/** Logs every difference; what is to be done about it the reconciler of the session does. */
export async function reportGaps(store: Store, gaps: readonly PeerGap[]): Promise<void> {
  if (gaps.length === 0) return;
  const kind: EventKind = 'reconciliation.gap';
  await store.tx(async (tx) => {
    for (const { sessionId, difference } of gaps)
      await tx.emit({
        kind,
        actor: supervisorActor,
        subject: { kind: 'session', id: sessionId },
        sessionId,
        facts: { difference } satisfies Record<string, Json>,
      });
  });
}
