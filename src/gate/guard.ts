import type { Store } from '../store/index.ts';
import type { GateCall, Judgement } from './call.ts';
import { judgeCall } from './judge-call.ts';
import { messages } from './messages.ts';
import { type Phase, visibleTools } from './phase.ts';
import type { GatePolicy } from './policy.ts';
import { prepareCall } from './prepare-call.ts';

/** What stands between an agent's loop and its tools (G-16, G6.3); the loop does not change when guards are swapped. */
export interface Guard {
  readonly name: 'read-only' | 'gatekeeper';
  /** The tools that the agent may see. */
  listTools<T extends { isReadOnly: boolean }>(tools: readonly T[]): T[];
  /** Never throws: what cannot be judged is refused unless it only reads (G-15). */
  check(call: GateCall, policy: GatePolicy): Promise<Judgement>;
}

/** The guard of a phase: `ReadOnlyGuard` in phase 1, `GatekeeperGuard` above it. `onFault` hears of failures of the world. */
export function guardOf(phase: Phase, store: Store, onFault: (error: unknown) => void = () => {}): Guard {
  return {
    name: phase === 1 ? 'read-only' : 'gatekeeper',
    listTools: (tools) => visibleTools(tools, phase),
    async check(call, policy) {
      let isReading = false;
      try {
        const prepared = prepareCall(call, { ...policy, phase });
        isReading = prepared.requirements.every((part) => part.effect === 'read');
        return await store.tx((tx) => judgeCall(tx, prepared));
      } catch (error) {
        onFault(error);
        if (isReading) return { decision: 'allow', reason: 'read_only', message: messages.readOnly() };
        return { decision: 'refuse', reason: 'gate_failed', message: messages.failed() };
      }
    },
  };
}
