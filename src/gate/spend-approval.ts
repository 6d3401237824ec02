import { type CallId, refuse, type Result, ok } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import type { Judgement, PreparedCall } from './call.ts';
import { callActor, holdCall } from './call-store.ts';
import { capabilityIds, countRun, holdCapability } from './capability-store.ts';
import type { Capability } from './capability.ts';
import { bindingOf, judgementOf } from './answer-call.ts';
import { messages } from './messages.ts';
import type { GateCallRow } from './rows.ts';
import { voidCall } from './void-calls.ts';

/**
 * Spends the human's yes to a held call, before it goes on (decision 4): the call is prepared anew from what will really
 * run, and everything that the yes binds to is compared again. Spent once; a repetition answers `refuse`. `not-found` for
 * an unknown id. The answer is kept whatever it is.
 */
export async function spendApproval(
  tx: Tx,
  request: { callId: string; prepared: PreparedCall },
): Promise<Result<Judgement>> {
  const row = await holdCall(tx, request.callId);
  if (!row) return refuse('not-found', 'unknown_call', `unknown id ${request.callId}`, { id: request.callId });
  return ok(await spendCall(tx, row, request.prepared));
}

/** As `spendApproval`, for a row that is at hand. */
export async function spendCall(tx: Tx, row: GateCallRow, prepared: PreparedCall): Promise<Judgement> {
  const answer = {
    callId: row.id as CallId,
    ...(row.capability_id === null ? {} : { capabilityId: row.capability_id as never }),
  };
  if (row.state !== 'approved')
    return {
      ...judgementOf(row),
      message: messages.again(row.state, row.decision_id),
      ...(row.state === 'spent' ? { decision: 'refuse', reason: 'spent' } : {}),
    };
  if (prepared.phase === 1) return { ...answer, decision: 'refuse', reason: 'phase', message: messages.phase() };
  if (tx.now >= (row.expires_at ?? 0)) {
    await voidCall(tx, row, 'expired');
    return { ...answer, decision: 'refuse', reason: 'expired', message: messages.expired(row.id) };
  }
  const capabilities = await holdRecords(tx, row);
  const refused = capabilities.find((capability) => capability.status === 'refused');
  if (refused) {
    await voidCall(tx, row, 'capability_refused');
    return { ...answer, decision: 'refuse', reason: 'capability_refused', message: messages.capability(refused) };
  }
  if (bindingOf(prepared, capabilities) !== row.binding_digest) {
    await tx.emit({
      kind: 'call.mismatch',
      actor: callActor(row.session_id, row.generation),
      subject: { kind: 'call', id: row.id },
      sessionId: row.session_id,
      facts: { state: row.state, arguments_digest: row.arguments_digest, found_digest: prepared.argumentsDigest },
    });
    await voidCall(tx, row, 'mismatch');
    return { ...answer, decision: 'refuse', reason: 'mismatch', message: messages.mismatch(row.id) };
  }
  return spend(tx, row, capabilities);
}

async function holdRecords(tx: Tx, row: GateCallRow): Promise<Capability[]> {
  const records: Capability[] = [];
  for (const id of capabilityIds(row.capability_ids).toSorted()) {
    const capability = await holdCapability(tx, id);
    if (capability) records.push(capability);
  }
  return records;
}

async function spend(tx: Tx, row: GateCallRow, capabilities: readonly Capability[]): Promise<Judgement> {
  const spent = await tx.db
    .updateTable('gate_call')
    .set({ state: 'spent', spent_at: tx.now })
    .where('id', '=', row.id)
    .where('state', '=', 'approved')
    .where('expires_at', '>', tx.now)
    .returningAll()
    .executeTakeFirst();
  if (!spent)
    return {
      ...judgementOf(row),
      decision: 'refuse',
      reason: 'spent',
      message: messages.again('spent', row.decision_id),
    };
  for (const capability of capabilities) await countRun(tx, capability, row.session_id);
  await tx.emit({
    kind: 'call.spent',
    actor: callActor(row.session_id, row.generation),
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    facts: { capability_id: row.capability_id, arguments_digest: row.arguments_digest, decided_by: row.decided_by },
  });
  return { ...judgementOf(spent), decision: 'allow', message: messages.allowed() };
}
