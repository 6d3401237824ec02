import { type Actor, type Json, mayMove, ok, refuse, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import type { SessionRow } from './session-store.ts';
import { isTerminal, sessionMoves, type SessionState } from './states.ts';

/** Who moves a session and why. */
export interface MoveCause {
  actor: Actor;
  /** Machine word: `hung`, `operator`, `all_answered`. */
  reason?: string;
  facts?: Record<string, Json>;
}

/** Woken with a session's id whenever something about it may have to be done. */
export const sessionsTopic = 'sessions';

/**
 * Moves a session from `from` to `to` by compare-and-set, with its event in the same transaction (S-13). Refused with
 * `wrong-state` when the move is not listed or the stored state is another one; the refusal is logged as an event in the
 * same transaction (S-10), which stays if the caller commits. The only writer of the column `state`.
 */
export async function transition(
  tx: Tx,
  id: string,
  from: SessionState,
  to: SessionState,
  cause: MoveCause,
): Promise<Result<SessionRow>> {
  if (!mayMove(sessionMoves, from, to)) return rejectMove(tx, id, from, to, from, cause);
  const row = await tx.db
    .updateTable('session')
    .set({
      state: to,
      updated_at: tx.now,
      ...(cause.reason === undefined ? {} : { reason: cause.reason }),
      ...(isTerminal(to) ? { ended_at: tx.now } : {}),
    })
    .where('id', '=', id)
    .where('state', '=', from)
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    const found = await tx.db.selectFrom('session').select('state').where('id', '=', id).executeTakeFirst();
    return rejectMove(tx, id, from, to, found?.state, cause);
  }
  await tx.emit({
    kind: 'session.moved',
    actor: cause.actor,
    subject: { kind: 'session', id },
    sessionId: id,
    ...(row.project_id ? { projectId: row.project_id } : {}),
    facts: {
      from,
      to,
      work_key: row.work_key,
      generation: row.generation,
      reason: machineWord(cause.reason),
      ...cause.facts,
    },
  });
  tx.wake(sessionsTopic, id);
  return ok(row);
}

async function rejectMove(
  tx: Tx,
  id: string,
  from: SessionState,
  to: SessionState,
  found: SessionState | undefined,
  cause: MoveCause,
): Promise<Result<never>> {
  await tx.emit({
    kind: 'session.move-rejected',
    actor: cause.actor,
    subject: { kind: 'session', id },
    sessionId: id,
    facts: { from, to, found: found ?? null, reason: machineWord(cause.reason) },
  });
  if (found === undefined) return refuse('not-found', 'unknown_session', `unknown session ${id}`, { id });
  return refuse('wrong-state', 'move_rejected', `Session ${id} is ${found} and cannot go from ${from} to ${to}.`, {
    id,
    from,
    to,
    found,
  });
}

/** Events hold no free text (S-62): a reason in a human's words stays in the row. */
function machineWord(reason: string | undefined): string | null {
  if (reason === undefined) return null;
  return /^[a-z0-9_.:-]{1,64}$/.test(reason) ? reason : 'in_words';
}
