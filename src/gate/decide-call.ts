import { type Actor, type CapabilityId, ok, refuse, type Result } from '../kernel/index.ts';
import { refuseUnlessHuman, type Tx } from '../store/index.ts';
import type { CallState } from './call.ts';
import { holdCall } from './call-store.ts';
import { capabilityIds, readCapability } from './capability-store.ts';
import { approveCapability } from './decide-capability.ts';
import { isPreviewComplete, settleCall } from './decide-waiting.ts';
import type { Phase } from './phase.ts';
import type { GateCallRow } from './rows.ts';

/** A human's answer to one waiting call. */
export interface CallDecision {
  callId: string;
  actor: Actor;
  phase: Phase;
}

/** What became of the call. */
export interface DecidedCall {
  callId: string;
  state: CallState;
  /** Session that waits for the answer. */
  sessionId: string;
  /** False when it already had that answer (G-22). */
  isChanged: boolean;
  /** Capabilities that were approved for good with it. */
  approvedCapabilities: readonly CapabilityId[];
}

/**
 * Says yes to exactly this call, once, for 15 min (decision 4). Refuses `human_only`, `phase_1`, `unknown_call`,
 * `call_closed` and `preview_incomplete`.
 */
export async function approveCall(tx: Tx, decision: CallDecision): Promise<Result<DecidedCall>> {
  const held = await holdForDecision(tx, 'approve_call', decision, 'approved');
  if (!held.ok) return held;
  const { value: row } = held;
  if (row.state === 'approved') return ok(decided(row, 'approved', false));
  if (!(await isPreviewComplete(tx, row.id))) {
    return refuse(
      'invalid',
      'preview_incomplete',
      `Call ${row.id} cannot be shown whole, so it cannot be approved; refuse it and have the agent ask for less at once.`,
      { id: row.id },
    );
  }
  await settleCall(tx, row, 'approved', decision.actor);
  return ok(decided(row, 'approved', true));
}

/** Says no to this call. The identical call stays refused for 15 min. Refuses as `approveCall`. */
export async function refuseCall(tx: Tx, decision: CallDecision): Promise<Result<DecidedCall>> {
  const held = await holdForDecision(tx, 'refuse_call', decision, 'denied');
  if (!held.ok) return held;
  const { value: row } = held;
  if (row.state === 'denied') return ok(decided(row, 'denied', false));
  await settleCall(tx, row, 'denied', decision.actor);
  return ok(decided(row, 'denied', true));
}

/**
 * Says yes to this call and, for good, to every capability that it waits for. Refuses `not_standing` where a standing yes would
 * be a yes to anything, and whatever `approveCapability` refuses.
 */
export async function approveCallForGood(
  tx: Tx,
  decision: CallDecision & { hasFreshProof: boolean; note?: string },
): Promise<Result<DecidedCall>> {
  const held = await holdForDecision(tx, 'approve_call', decision, 'approved');
  if (!held.ok) return held;
  const { value: row } = held;
  if (row.can_stand === 0) {
    return refuse(
      'invalid',
      'not_standing',
      `Call ${row.id} can only be approved once: a standing yes to it would be a yes to anything. Approve this one call.`,
      { id: row.id },
    );
  }
  const approvedCapabilities: CapabilityId[] = [];
  for (const id of capabilityIds(row.capability_ids)) {
    const capability = await readCapability(tx.db, id);
    if (!capability || capability.status === 'approved' || capability.status === 'provisional') continue;
    const approved = await approveCapability(tx, {
      capabilityId: id,
      actor: decision.actor,
      phase: decision.phase,
      hasFreshProof: decision.hasFreshProof,
      ...(decision.note === undefined ? {} : { note: decision.note }),
    });
    if (!approved.ok) return approved;
    approvedCapabilities.push(id);
  }
  const call = await approveCall(tx, decision);
  return call.ok ? ok({ ...call.value, approvedCapabilities }) : call;
}

/** Records how a call that was let through ended; an outcome that nobody saw is `unknown` (G-14, decision 4). */
export async function recordOutcome(
  tx: Tx,
  ended: { callId: string; outcome: 'ok' | 'error' | 'timeout' | 'unknown' },
): Promise<Result<undefined>> {
  const row = await tx.db
    .updateTable('gate_call')
    .set({ outcome: ended.outcome, outcome_at: tx.now })
    .where('id', '=', ended.callId)
    .where('state', 'in', ['allowed', 'spent'])
    .where('outcome', 'is', null)
    .returning(['id', 'session_id', 'capability_id'])
    .executeTakeFirst();
  if (!row)
    return refuse(
      'wrong-state',
      'call_not_running',
      `Call ${ended.callId} is unknown, was not let through, or has ended.`,
      { id: ended.callId },
    );
  await tx.emit({
    kind: 'call.ended',
    actor: { kind: 'system', id: 'gate' },
    subject: { kind: 'call', id: row.id },
    sessionId: row.session_id,
    facts: { outcome: ended.outcome, capability_id: row.capability_id },
  });
  return ok();
}

async function holdForDecision(
  tx: Tx,
  act: string,
  decision: CallDecision,
  same: CallState,
): Promise<Result<GateCallRow>> {
  const refused = refuseUnlessHuman({ actor: decision.actor, act, subject: { kind: 'call', id: decision.callId } });
  if (refused) return refused;
  if (decision.phase === 1) {
    return refuse('wrong-state', 'phase_1', 'The operating phase is 1: nothing is reviewed. Raise gate.phase first.', {
      phase: 1,
    });
  }
  const row = await holdCall(tx, decision.callId);
  if (!row) return refuse('not-found', 'unknown_call', `unknown id ${decision.callId}`, { id: decision.callId });
  if (row.state === 'waiting' || row.state === same) return ok(row);
  return refuse('wrong-state', 'call_closed', `Call ${row.id} is already ${row.state}.`, {
    id: row.id,
    state: row.state,
  });
}

function decided(row: GateCallRow, state: CallState, isChanged: boolean): DecidedCall {
  return { callId: row.id, state, sessionId: row.session_id, isChanged, approvedCapabilities: [] };
}
