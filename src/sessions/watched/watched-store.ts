import type { Selectable } from 'kysely';

import { systemActor } from '../../kernel/index.ts';
import { type Schema, type Tx, voidDecisions } from '../../store/index.ts';
import type { Db } from '../session-store.ts';

export type WatchedSession = Selectable<Schema['watched_session']>;
export type WatchedRequest = Selectable<Schema['watched_request']>;

/** Topic whose subject is the id of a watched request that was answered or went away. */
export const watchedTopic = 'watched';
export const watchActor = systemActor('watch');

/** Why a request went away without an answer of ours. */
export type VoidReason = 'answered_there' | 'hook_gone' | 'session_ended';

export async function findWatchedRequest(db: Db, id: string): Promise<WatchedRequest | undefined> {
  return db.selectFrom('watched_request').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Watched sessions that live, newest first, each with what it waits for. */
export async function listWatched(db: Db): Promise<(WatchedSession & { requests: WatchedRequest[] })[]> {
  const sessions = await db
    .selectFrom('watched_session')
    .selectAll()
    .where('ended_at', 'is', null)
    .orderBy('seen_at', 'desc')
    .limit(200)
    .execute();
  if (sessions.length === 0) return [];
  const open = await db
    .selectFrom('watched_request')
    .selectAll()
    .where('state', '=', 'open')
    .where(
      'watched_session_id',
      'in',
      sessions.map(({ id }) => id),
    )
    .orderBy('created_at')
    .execute();
  return sessions.map((session) => ({
    ...session,
    requests: open.filter((request) => request.watched_session_id === session.id),
  }));
}

/** Withdraws open requests of a session, with their decisions; `digest` names those of one call. Gives how many went. */
export async function voidRequests(
  tx: Tx,
  of: { sessionId: string; digest?: string; requestId?: string },
  reason: VoidReason,
): Promise<number> {
  let query = tx.db
    .updateTable('watched_request')
    .set({ state: 'void', reason, ended_at: tx.now })
    .where('watched_session_id', '=', of.sessionId)
    .where('state', '=', 'open');
  if (of.digest !== undefined) query = query.where('digest', '=', of.digest);
  if (of.requestId !== undefined) query = query.where('id', '=', of.requestId);
  const gone = await query.returning('id').execute();
  for (const { id } of gone) {
    await voidDecisions(tx, { subjectId: id }, reason);
    await tx.emit({
      kind: 'watched.voided',
      actor: watchActor,
      subject: { kind: 'watched-session', id: of.sessionId },
      facts: { request_id: id, reason },
    });
    tx.wake(watchedTopic, id);
  }
  return gone.length;
}

/** The session's state after its requests changed: it waits while one is open. */
export async function settleState(
  tx: Tx,
  sessionId: string,
  otherwise: 'idle' | 'working',
): Promise<'idle' | 'working' | 'waiting'> {
  const open = await tx.db
    .selectFrom('watched_request')
    .select('id')
    .where('watched_session_id', '=', sessionId)
    .where('state', '=', 'open')
    .executeTakeFirst();
  const state = open ? 'waiting' : otherwise;
  await tx.db
    .updateTable('watched_session')
    .set({ state, seen_at: tx.now })
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .execute();
  return state;
}

/** Ends a session: its open requests go with it. Nothing when it has ended already. */
export async function endWatched(tx: Tx, sessionId: string): Promise<void> {
  const ended = await tx.db
    .updateTable('watched_session')
    .set({ state: 'ended', ended_at: tx.now, seen_at: tx.now })
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (!ended) return;
  await voidRequests(tx, { sessionId }, 'session_ended');
  await tx.emit({ kind: 'watched.ended', actor: watchActor, subject: { kind: 'watched-session', id: sessionId } });
}
