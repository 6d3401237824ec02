import type { Selectable } from 'kysely';

import type { Schema, Tx } from '../../store/index.ts';
import type { Db } from '../session-store.ts';

/** A takeover as stored. */
export type TakeoverRow = Selectable<Schema['takeover']>;

/** Who has the wheel of a session now, if anybody. */
export async function openTakeover(db: Db, sessionId: string): Promise<TakeoverRow | undefined> {
  return db
    .selectFrom('takeover')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
}

/** The newest takeover of any of these sessions that was handed back. */
export async function lastHandback(db: Db, sessionIds: readonly string[]): Promise<TakeoverRow | undefined> {
  if (sessionIds.length === 0) return undefined;
  return db
    .selectFrom('takeover')
    .selectAll()
    .where('session_id', 'in', [...sessionIds])
    .where('outcome', '=', 'handed_back')
    .orderBy('ended_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The open takeovers of these sessions. */
export async function openTakeovers(db: Db, sessionIds: readonly string[]): Promise<Map<string, TakeoverRow>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('takeover')
    .selectAll()
    .where('session_id', 'in', [...sessionIds])
    .where('ended_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.session_id, row]));
}

/** Keeps where the human's work begins; the first answer stays. */
export async function noteStart(tx: Tx, takeoverId: string, commit: string): Promise<void> {
  await tx.db
    .updateTable('takeover')
    .set({ start_commit: commit })
    .where('id', '=', takeoverId)
    .where('start_commit', 'is', null)
    .execute();
}

/** Counts a terminal that is about to be opened; gives its number. `undefined`: the takeover has ended. */
export async function countTerminal(tx: Tx, takeoverId: string): Promise<number | undefined> {
  const row = await tx.db
    .updateTable('takeover')
    .set((eb) => ({ terminals: eb('terminals', '+', 1) }))
    .where('id', '=', takeoverId)
    .where('ended_at', 'is', null)
    .returning('terminals')
    .executeTakeFirst();
  return row === undefined ? undefined : Number(row.terminals);
}

/** Marks what every process of a takeover's terminals carries in its environment. */
export function terminalMarker(takeoverId: string): string {
  return `wheel-${takeoverId}`;
}
