import { systemActor } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { callsTopic } from './call.ts';
import { capabilityIds } from './capability-store.ts';
import type { GateCallRow } from './rows.ts';

/**
 * Takes back waiting calls and unspent approvals: of a capability whose definition or tier changed, or of a session that
 * ended. Their decisions go away with them. Gives the number.
 */
export async function voidCalls(
  tx: Tx,
  match: { capabilityId?: string; sessionId?: string; reason: string },
): Promise<number> {
  let query = tx.db.selectFrom('gate_call').selectAll().where('state', 'in', ['waiting', 'approved']);
  if (match.sessionId !== undefined) query = query.where('session_id', '=', match.sessionId);
  if (match.capabilityId !== undefined) query = query.where('capability_ids', 'like', `%"${match.capabilityId}"%`);
  const rows = await query.orderBy('id').execute();
  let count = 0;
  for (const row of rows) {
    if (match.capabilityId !== undefined && !capabilityIds(row.capability_ids).includes(match.capabilityId as never))
      continue;
    if (await voidCall(tx, row, match.reason)) count += 1;
  }
  return count;
}

/** Takes back one waiting or approved call; `expired` where its time ran out. False when it was decided meanwhile. */
export async function voidCall(tx: Tx, row: GateCallRow, reason: string): Promise<boolean> {
  const changed = await tx.db
    .updateTable('gate_call')
    .set({ state: reason === 'expired' ? 'expired' : 'void' })
    .where('id', '=', row.id)
    .where('state', 'in', reason === 'expired' ? ['approved'] : ['waiting', 'approved'])
    .returning('id')
    .executeTakeFirst();
  if (!changed) return false;
  await tx.emit({
    kind: 'call.voided',
    actor: systemActor('gate'),
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    facts: { reason, from: row.state, capability_id: row.capability_id, arguments_digest: row.arguments_digest },
  });
  if (row.decision_id !== null) await voidDecisions(tx, { subjectId: row.id, kind: 'call_approval' }, reason);
  tx.wake(callsTopic, row.id);
  return true;
}

/** Ends what a session left open at the gate; called in the transaction that ends the session. */
export async function closeSessionCalls(tx: Tx, session: { sessionId: string; reason: string }): Promise<number> {
  return voidCalls(tx, session);
}
