import { type Actor, refuse, type Refused, type Result } from '../kernel/index.ts';
import type { Store, Tx } from './store.ts';

/** What somebody tries to decide, for the refusal and its event. */
export interface HumanAct {
  actor: Actor;
  /** Machine word: `approve_capability`, `accept_landing`, … */
  act: string;
  subject: { kind: string; id: string };
}

/** The refusal for an actor that is no operator, or `undefined`: no agent, cli token, viewer or part of the server decides (G-21). */
export function refuseUnlessHuman({ actor, act, subject }: HumanAct): Refused | undefined {
  if (actor.kind === 'operator') return undefined;
  return refuse(
    'not-permitted',
    'human_only',
    `Only an operator can decide about ${subject.kind} ${subject.id}; nothing was changed. Ask the operator to decide in the console or with their passphrase.`,
    { act, actor_kind: actor.kind },
  );
}

/**
 * Runs a deciding use case in its transaction. Anybody but an operator is refused, and that leaves an `access.refused`
 * event of its own, since a refused transaction keeps nothing (G-20, attack 15).
 */
export async function decideAsHuman<T>(
  store: Store,
  attempt: HumanAct,
  decide: (tx: Tx) => Promise<Result<T>>,
): Promise<Result<T>> {
  const refused = refuseUnlessHuman(attempt);
  if (!refused) return store.tx(decide);
  const { actor, act, subject } = attempt;
  await store.tx((tx) =>
    tx.emit({
      kind: 'access.refused',
      actor,
      subject,
      ...(actor.kind === 'session' ? { sessionId: actor.id } : {}),
      facts: { act, code: 'human_only' },
    }),
  );
  return refused;
}
