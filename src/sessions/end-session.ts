import { type Actor, ok, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { emitOf } from './events.ts';
import { voidPermissions } from './permissions.ts';
import type { SessionContext } from './ports.ts';
import { settlePrompt } from './prompts.ts';
import { toSession } from './session.ts';
import type { SessionRow } from './session-store.ts';
import type { TerminalState } from './states.ts';
import { closeTakeover } from './takeover/hand-back.ts';
import { transition } from './transition.ts';

/**
 * Moves a session to a terminal state with all that follows in the same transaction: open questions closed as
 * `session_ended` (S-41), permission requests void, prompts with their last verdict, the process marked to be ended,
 * and `ports.onEnded`. Refused when the move is not allowed; the refusal is logged.
 */
export async function endSession(
  tx: Tx,
  ctx: SessionContext,
  row: SessionRow,
  to: TerminalState,
  cause: { actor: Actor; reason: string },
): Promise<Result<SessionRow>> {
  const moved = await transition(tx, row.id, row.state, to, cause);
  if (!moved.ok) return moved;
  const hasProcess = ['launching', 'live', 'ending'].includes(moved.value.process);
  const ended = await tx.db
    .updateTable('session')
    .set({
      process: hasProcess ? 'ending' : 'ended',
      waiting_approval: 0,
      unresponsive: 0,
      stalled: 0,
      done_held: 0,
      turn_cut: 0,
      taken_over: 0,
    })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await closeEscalations(tx, ended, 'session_ended', cause.actor);
  await closeTakeover(tx, ended, cause.actor);
  await voidPermissions(tx, ctx, ended, 'void', 'session_ended');
  await settleOpenPrompts(tx, ended);
  await ctx.ports.onEnded(tx, toSession(ended), { state: to, reason: cause.reason });
  return ok(ended);
}

/** Closes every open question of a session with a reason; they stay visible as unanswered. Undelivered answers become void. */
export async function closeEscalations(tx: Tx, row: SessionRow, reason: string, actor: Actor): Promise<number> {
  const open = await tx.db
    .updateTable('escalation')
    .set({ status: 'CLOSED', closure_reason: reason, delivery: 'void' })
    .where('session_id', '=', row.id)
    .where('status', '=', 'OPEN')
    .returning('id')
    .execute();
  for (const { id } of open) {
    await voidDecisions(tx, { subjectId: id, kind: 'escalation_answer' }, reason);
    await emitOf(tx, row, 'escalation.closed', actor, { reason }, { kind: 'escalation', id });
    tx.wake(escalationsTopic, id);
  }
  const undelivered = await tx.db
    .updateTable('escalation')
    .set({ delivery: 'void' })
    .where('session_id', '=', row.id)
    .where('delivery', '=', 'pending')
    .returning('id')
    .execute();
  for (const { id } of undelivered) tx.wake(escalationsTopic, id);
  return open.length;
}

/** Woken with a question's id when it was answered or closed. */
export const escalationsTopic = 'escalations';

async function settleOpenPrompts(tx: Tx, row: SessionRow): Promise<void> {
  const open = await tx.db
    .selectFrom('prompt')
    .selectAll()
    .where('session_id', '=', row.id)
    .where('state', 'in', ['queued', 'sending'])
    .execute();
  for (const prompt of open)
    await settlePrompt(tx, row, prompt, prompt.state === 'queued' ? 'not_delivered' : 'unconfirmed');
}
