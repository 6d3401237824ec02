import { systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { voidPermissions } from './permissions.ts';
import type { SessionContext } from './ports.ts';
import type { SessionRow } from './session-store.ts';
import { transition } from './transition.ts';

/** Marks the open turn as cut and ends its permission requests; the supervisor cancels it after the commit. */
export async function holdTurn(tx: Tx, ctx: SessionContext, session: SessionRow): Promise<void> {
  if (session.turn_open === 1)
    await tx.db.updateTable('session').set({ turn_cut: 1 }).where('id', '=', session.id).execute();
  await voidPermissions(tx, ctx, session, 'cancelled', 'paused');
}

/** Why a session is paused whose budget is used up; its decision lets it go on. */
export const budgetReason = 'budget';

/**
 * RUNNING → PAUSED because a budget is used up (decision 7). In another state nothing happens: an ESCALATED session is
 * looked at again as soon as it is RUNNING.
 */
export async function pauseForBudget(tx: Tx, ctx: SessionContext, session: SessionRow): Promise<boolean> {
  if (session.state !== 'RUNNING') return false;
  const paused = await transition(tx, session.id, 'RUNNING', 'PAUSED', {
    actor: systemActor('budgets'),
    reason: budgetReason,
  });
  if (!paused.ok) return false;
  await holdTurn(tx, ctx, paused.value);
  return true;
}
