import type { Actor } from '../kernel/index.ts';
import { settleDecision, type Tx } from '../store/index.ts';
import { approvalTtlMs, callsTopic } from './call.ts';
import { capabilityIds, readCapability } from './capability-store.ts';
import type { Capability } from './capability.ts';
import type { GateCallRow } from './rows.ts';

/** Says yes to the waiting calls that waited for this standing approval alone. Gives their ids. */
export async function approveWaiting(tx: Tx, capability: Capability, actor: Actor): Promise<string[]> {
  const approved: string[] = [];
  for (const row of await waitingFor(tx, capability.id)) {
    if (row.can_stand === 0 || !(await isPreviewComplete(tx, row.id))) continue;
    const others = await Promise.all(capabilityIds(row.capability_ids).map((id) => readCapability(tx.db, id)));
    if (others.some((other) => other?.status !== 'approved' && other?.status !== 'provisional')) continue;
    if (await settleCall(tx, row, 'approved', actor)) approved.push(row.id);
  }
  return approved;
}

/** Says no to every waiting call of a refused capability. Gives their ids. */
export async function denyWaiting(tx: Tx, capability: Capability, actor: Actor): Promise<string[]> {
  const denied: string[] = [];
  for (const row of await waitingFor(tx, capability.id))
    if (await settleCall(tx, row, 'denied', actor)) denied.push(row.id);
  return denied;
}

/** Moves a waiting call to `approved` (with its time limit) or `denied`, with its decision and event. False when it no longer waits. */
export async function settleCall(tx: Tx, row: GateCallRow, to: 'approved' | 'denied', actor: Actor): Promise<boolean> {
  const changed = await tx.db
    .updateTable('gate_call')
    .set({
      state: to,
      decided_by: actor.id,
      decided_at: tx.now,
      ...(to === 'approved' ? { expires_at: tx.now + approvalTtlMs } : {}),
    })
    .where('id', '=', row.id)
    .where('state', '=', 'waiting')
    .returning('id')
    .executeTakeFirst();
  if (!changed) return false;
  if (row.decision_id !== null)
    await settleDecision(tx, row.decision_id, { outcome: to === 'approved' ? 'approved' : 'refused', actor });
  await tx.emit({
    kind: to === 'approved' ? 'call.approved' : 'call.denied',
    actor,
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    facts: {
      capability_id: row.capability_id,
      arguments_digest: row.arguments_digest,
      policy: row.policy_version,
      ...(to === 'approved' ? { expires_at: tx.now + approvalTtlMs } : {}),
    },
  });
  tx.wake(callsTopic, row.id);
  return true;
}

/** Whether a human could have read the whole call (decision 8). */
export async function isPreviewComplete(tx: Tx, callId: string): Promise<boolean> {
  const content = await tx.db
    .selectFrom('gate_call_content')
    .select('preview')
    .where('call_id', '=', callId)
    .executeTakeFirst();
  return content !== undefined && (JSON.parse(content.preview) as { isComplete: boolean }).isComplete;
}

async function waitingFor(tx: Tx, capabilityId: string): Promise<GateCallRow[]> {
  const rows = await tx.db
    .selectFrom('gate_call')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('capability_ids', 'like', `%"${capabilityId}"%`)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.filter((row) => (capabilityIds(row.capability_ids) as string[]).includes(capabilityId));
}
