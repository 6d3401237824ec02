import { type Actor, isRefused, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import { refuseUnlessHuman, settleDecision, type Tx } from '../store/index.ts';
import type { Capability, RecordedTier } from './capability.ts';
import { assertNoEscalation } from './capability.ts';
import { holdCapability, moveStatus, moveTier, unknownCapability } from './capability-store.ts';
import { approveWaiting, denyWaiting } from './decide-waiting.ts';
import type { Phase } from './phase.ts';
import { voidCalls } from './void-calls.ts';

/** A human's standing decision about a capability. */
export interface CapabilityDecision {
  capabilityId: string;
  actor: Actor;
  /** In phase 1 nothing is reviewed (G-24). */
  phase: Phase;
  /** The passphrase was given anew for this act; asked for privileged ones (design 4). */
  hasFreshProof: boolean;
  /** Needed to reinstate a refused one; at most 500 characters. */
  note?: string;
}

/** What a standing decision changed. */
export interface DecidedCapability {
  capability: Capability;
  /** False when it already had that status: nothing was done (G-22). */
  isChanged: boolean;
  /** Waiting calls that were settled by it. */
  calls: readonly string[];
}

/**
 * Approves a capability for good (G-5, G-21). Calls that wait for nothing else are approved with it. Refuses `human_only`,
 * `phase_1`, `unknown_capability`, `fresh_proof` (privileged) and `note_missing` (reinstating a refused one).
 */
export async function approveCapability(tx: Tx, decision: CapabilityDecision): Promise<Result<DecidedCapability>> {
  const held = await holdForDecision(tx, 'approve_capability', decision);
  if (!held.ok) return held;
  const { value: capability } = held;
  if (capability.status === 'approved' && !/^(?:preset|rule):/.test(capability.decidedBy ?? ''))
    return unchanged(capability);
  if (capability.status === 'refused' && !decision.note?.trim()) {
    return refuse(
      'invalid',
      'note_missing',
      `Capability ${capability.id} was refused; say in a note why it is reinstated.`,
      { id: capability.id },
    );
  }
  if (capability.tier === 'privileged' && !decision.hasFreshProof) return freshProof(capability, 'A standing approval');
  if (capability.status === 'approved') return takeOver(tx, capability, decision);
  return settle(tx, capability, decision, 'approved');
}

/** Refuses or revokes a capability; its waiting calls are refused with it, and it stays refused (decision 9). */
export async function refuseCapability(tx: Tx, decision: CapabilityDecision): Promise<Result<DecidedCapability>> {
  const held = await holdForDecision(tx, 'refuse_capability', decision);
  if (!held.ok) return held;
  if (held.value.status === 'refused') return unchanged(held.value);
  return settle(tx, held.value, decision, 'refused');
}

/**
 * Sets the tier. Raising is open to anybody and blocks the capability; lowering is a human's, with reason and fresh proof
 * (G-8). Refuses `tier_escalation`, `fresh_proof`, `note_missing`, `unknown_capability`.
 */
export async function reclassifyCapability(
  tx: Tx,
  request: { capabilityId: string; tier: RecordedTier; actor: Actor; hasFreshProof: boolean; reason?: string },
): Promise<Result<Capability>> {
  const capability = await holdCapability(tx, request.capabilityId);
  if (!capability) return unknownCapability(request.capabilityId);
  if (capability.tier === request.tier) return ok(capability);
  const isLowering = request.tier === 'reversible';
  if (isLowering && request.actor.kind !== 'operator') {
    return refuse(
      'not-permitted',
      'tier_escalation',
      `Only a human can lower the tier of capability ${capability.id}.`,
      { id: capability.id },
    );
  }
  assertNoEscalation(request.actor, capability.tier, request.tier);
  if (isLowering && !request.reason?.trim()) {
    return refuse('invalid', 'note_missing', `Say why the tier of capability ${capability.id} is lowered.`, {
      id: capability.id,
    });
  }
  if (isLowering && !request.hasFreshProof) return freshProof(capability, 'Lowering a tier');
  const changed = await moveTier(tx, capability, {
    to: request.tier,
    actor: request.actor,
    reason: isLowering ? 'lowered' : 'raised',
  });
  if (!isLowering) await voidCalls(tx, { capabilityId: capability.id, reason: 'tier_raised' });
  return ok(changed);
}

async function holdForDecision(tx: Tx, act: string, decision: CapabilityDecision): Promise<Result<Capability>> {
  const refused = refuseUnlessHuman({
    actor: decision.actor,
    act,
    subject: { kind: 'capability', id: decision.capabilityId },
  });
  if (refused) return refused;
  if (decision.phase === 1) {
    return refuse('wrong-state', 'phase_1', 'The operating phase is 1: nothing is reviewed. Raise gate.phase first.', {
      phase: 1,
    });
  }
  const capability = await holdCapability(tx, decision.capabilityId);
  return capability ? ok(capability) : unknownCapability(decision.capabilityId);
}

async function settle(
  tx: Tx,
  capability: Capability,
  decision: CapabilityDecision,
  to: 'approved' | 'refused',
): Promise<Result<DecidedCapability>> {
  const changed = await moveStatus(tx, capability, {
    to,
    actor: decision.actor,
    reason: to,
    decidedBy: decision.actor.id,
    ...(decision.note === undefined ? {} : { note: decision.note }),
  });
  if (isRefused(changed)) return changed;
  await settleOpenQuestion(tx, capability.id, to, decision.actor);
  const calls =
    to === 'approved'
      ? await approveWaiting(tx, changed, decision.actor)
      : await denyWaiting(tx, changed, decision.actor);
  return ok({ capability: changed, isChanged: true, calls });
}

/** A human confirms what so far a preset or rule had opened: from now on it is the human's. */
async function takeOver(
  tx: Tx,
  capability: Capability,
  decision: CapabilityDecision,
): Promise<Result<DecidedCapability>> {
  await tx.db
    .updateTable('capability')
    .set({ decided_by: decision.actor.id, decided_at: tx.now, decision_note: decision.note ?? null })
    .where('id', '=', capability.id)
    .execute();
  const changed = { ...capability, decidedBy: decision.actor.id, decidedAt: tx.now };
  return ok({ capability: changed, isChanged: true, calls: await approveWaiting(tx, changed, decision.actor) });
}

async function settleOpenQuestion(tx: Tx, capabilityId: string, outcome: string, actor: Actor): Promise<void> {
  const open = await tx.db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', `capability_approval:${capabilityId}`)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (open) await settleDecision(tx, open.id, { outcome, actor });
}

function unchanged(capability: Capability): Result<DecidedCapability> {
  return ok({ capability, isChanged: false, calls: [] });
}

function freshProof(capability: Capability, act: string): Refused {
  return refuse(
    'proof-required',
    'fresh_proof',
    `${act} of capability ${capability.id} (${capability.tier}) needs the passphrase anew.`,
    { id: capability.id },
  );
}
