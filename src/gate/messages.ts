import type { Capability } from './capability.ts';

/** What an agent reads as the result of its call (G-13): what happened, to which id, and what a human can do. */
export const messages = {
  readOnly: (): string => 'allowed: the call changes nothing',
  allowed: (): string => 'allowed',
  phase: (): string =>
    'refused: the operating phase is 1 (read-only), nothing may be changed. A human can raise the setting gate.phase.',
  forbidden: (source: string, capability: Capability): string =>
    `refused: ${source} forbids ${capability.name} (capability ${capability.id}, ${capability.tier}). A human can change the policy.`,
  capability: (capability: Capability): string =>
    capability.status === 'refused'
      ? `refused: capability ${capability.id} is refused (${capability.tier}, a human said no). Do it another way; only a human can reinstate it.`
      : `refused: capability ${capability.id} is ${capability.status} (${capability.tier}, awaiting human approval). Go on with something else; a human can approve ${capability.id}.`,
  ask: (decisionId: string, capability: Capability): string =>
    `waiting: capability ${capability.id} (${capability.tier}) needs a human's yes to this call, decision ${decisionId}. Call it again with the same arguments when it is answered.`,
  denied: (decisionId: string | null): string =>
    `refused: a human said no to exactly this call${decisionId === null ? '' : ` (decision ${decisionId})`}. Do it another way.`,
  tooMany: (limit: number): string =>
    `refused: ${limit} calls of this session already wait for a human. Go on with what needs no yes, or wait.`,
  mismatch: (callId: string): string =>
    `refused: call ${callId} came again with other arguments than it was judged with. Ask anew with the arguments you mean.`,
  expired: (callId: string): string => `refused: the yes to call ${callId} is too old. Call it again to ask anew.`,
  again: (state: string, decisionId: string | null): string =>
    state === 'waiting'
      ? `waiting: a human's yes is still missing, decision ${decisionId ?? ''}. Call it again with the same arguments when it is answered.`
      : `${state === 'allowed' || state === 'spent' ? 'allowed' : 'refused'}: this request was already judged (${state})`,
  failed: (): string =>
    'refused: the gate could not read its store, so nothing that changes something may run. Try again later.',
} as const;
