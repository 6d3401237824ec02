import { type CallId, type CapabilityId, type DecisionId, digestOf } from '../kernel/index.ts';
import type { Decision, Judgement, PreparedCall } from './call.ts';
import type { Capability } from './capability.ts';
import type { GateCallRow } from './rows.ts';

/** The answer that a stored call stands for. */
export function judgementOf(row: GateCallRow): Omit<Judgement, 'message'> {
  const decision: Decision =
    row.state === 'allowed' || row.state === 'spent'
      ? 'allow'
      : row.state === 'waiting' || row.state === 'approved'
        ? 'ask'
        : 'refuse';
  return {
    decision,
    reason: row.reason,
    callId: row.id as CallId,
    ...(row.capability_id === null ? {} : { capabilityId: row.capability_id as CapabilityId }),
    ...(row.decision_id === null ? {} : { decisionId: row.decision_id as DecisionId }),
  };
}

/** What a yes binds to: the call as prepared, and the versions of all its capabilities (decision 4). */
export function bindingOf(prepared: PreparedCall, capabilities: readonly Capability[]): string {
  return digestOf({
    context: prepared.contextDigest,
    capabilities: capabilities.map(({ id, version }) => `${id}@${version}`).toSorted(),
  });
}
