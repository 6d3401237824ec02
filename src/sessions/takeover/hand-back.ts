import { type Actor, ok, refuse, type Refused, type Result } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import { mayUseAccount } from '../account-limits.ts';
import { emitOf } from '../events.ts';
import { relaunch } from '../relaunch.ts';
import { findSession, lockSession, type SessionRow } from '../session-store.ts';
import { sessionsTopic, transition } from '../transition.ts';
import { openTakeover, type TakeoverRow } from './takeover-store.ts';

/**
 * `handback`: the session goes on in a new generation that resumes the conversation; what the human did is its first prompt
 * (the launch plan reads it from the takeover). While its account is limited, whatever the session itself was told, it stays
 * PAUSED and goes on by itself afterwards. Refuses `not_taken_over`, `still_ending` (the agent's old process is not gone yet).
 */
export async function handBack(
  tx: Tx,
  actor: Actor,
  request: { sessionId: string; takeoverId: string; note?: string; endCommit?: string },
): Promise<Result<SessionRow>> {
  const session = await lockSession(tx, request.sessionId);
  if (!session) return refuse('not-found', 'unknown_session', `There is no session ${request.sessionId}.`);
  const open = await openTakeover(tx.db, session.id);
  if (open?.id !== request.takeoverId || session.taken_over !== 1) return notTakenOver(session);
  if (session.process !== 'ended') return stillEnding(session);
  await endTakeover(tx, open, {
    actor,
    outcome: 'handed_back',
    note: request.note ?? null,
    endCommit: request.endCommit ?? null,
    resumedGeneration: session.generation + 1,
  });
  const isLimited = !(await mayUseAccount(tx, session));
  await tx.db
    .updateTable('session')
    .set({
      ...(isLimited ? {} : { reason: 'handed_back', limited_until: null }),
      taken_over: 0,
      turn_cut: 0,
      updated_at: tx.now,
    })
    .where('id', '=', session.id)
    .execute();
  await emitOf(tx, session, 'session.flagged', actor, { flag: 'taken_over', on: false });
  if (!isLimited) {
    const running = await transition(tx, session.id, 'PAUSED', 'RUNNING', { actor, reason: 'handed_back' });
    if (!running.ok) return running;
    await relaunch(tx, running.value);
  }
  tx.wake(sessionsTopic, session.id);
  const now = await findSession(tx.db, session.id);
  if (!now) throw new Error(`session ${session.id} vanished`);
  return ok(now);
}

/** A session that ends while a human has the wheel takes the wheel away; part of `endSession`. */
export async function closeTakeover(tx: Tx, session: SessionRow, actor: Actor): Promise<void> {
  const open = await openTakeover(tx.db, session.id);
  if (!open) return;
  await endTakeover(tx, open, {
    actor,
    outcome: 'session_ended',
    note: null,
    endCommit: null,
    resumedGeneration: null,
  });
  await emitOf(tx, session, 'session.flagged', actor, { flag: 'taken_over', on: false });
}

async function endTakeover(
  tx: Tx,
  row: TakeoverRow,
  end: {
    actor: Actor;
    outcome: 'handed_back' | 'session_ended';
    note: string | null;
    endCommit: string | null;
    resumedGeneration: number | null;
  },
): Promise<void> {
  await tx.db
    .updateTable('takeover')
    .set({
      ended_at: tx.now,
      ended_by: end.actor.id,
      outcome: end.outcome,
      note: end.note,
      end_commit: end.endCommit,
      resumed_generation: end.resumedGeneration,
    })
    .where('id', '=', row.id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Nobody has the wheel. */
export function notTakenOver(session: Pick<SessionRow, 'id' | 'work_key' | 'state'>): Refused {
  return refuse(
    'wrong-state',
    'not_taken_over',
    `Nobody has the wheel of ${session.work_key} (it is ${session.state}): \`chantier takeover ${session.work_key}\` takes it.`,
    { session_id: session.id, state: session.state },
  );
}

/** The agent's own process is still being ended. */
export function stillEnding(session: Pick<SessionRow, 'id' | 'work_key'>): Refused {
  return refuse(
    'wrong-state',
    'still_ending',
    `The agent of ${session.work_key} is still being ended; try again in a few seconds.`,
    { session_id: session.id },
  );
}
