import { systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { holdCapability, moveStatus } from './capability-store.ts';
import { graceNow } from './grace-clock.ts';
import type { Phase } from './phase.ts';
import { voidCall } from './void-calls.ts';

/** How often the pass runs, ms (G-17). */
export const expiryIntervalMs = 60 * 60 * 1000;

/**
 * One pass (G-17): blocks every provisional capability whose grace is over and ends approvals that were not spent in time.
 * Safe when run twice at once; a cleaner, not the guard (G-18). Does nothing in phase 1 (G-24).
 */
export async function runExpiryOnce(tx: Tx, phase: Phase): Promise<{ blocked: number; approvalsEnded: number }> {
  if (phase === 1) return { blocked: 0, approvalsEnded: 0 };
  const now = await graceNow(tx);
  const due = await tx.db
    .selectFrom('capability')
    .select('id')
    .where('status', '=', 'provisional')
    .where('expires_at', '<=', now)
    .orderBy('id')
    .execute();
  let blocked = 0;
  for (const { id } of due) {
    const capability = await holdCapability(tx, id);
    if (capability?.status !== 'provisional') continue;
    const changed = await moveStatus(tx, capability, {
      to: 'blocked',
      actor: systemActor('expiry'),
      reason: 'expired',
    });
    if (!('ok' in changed)) blocked += 1;
  }
  const unspent = await tx.db
    .selectFrom('gate_call')
    .selectAll()
    .where('state', '=', 'approved')
    .where('expires_at', '<=', tx.now)
    .execute();
  let approvalsEnded = 0;
  for (const row of unspent) if (await voidCall(tx, row, 'expired')) approvalsEnded += 1;
  return { blocked, approvalsEnded };
}
