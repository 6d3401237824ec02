import { canonicalJson, type Json, newId } from '../kernel/index.ts';
import type { Tx } from './store.ts';

/** Woken when an effect was enqueued. */
export const effectsTopic = 'effects';

/**
 * Enqueues an outside effect in the transaction that decides it; the executor does it after commit, at least once
 * (design 5). `key` is deterministic: enqueued again, nothing is added. `notBefore` (epoch ms) delays the first try.
 */
export async function enqueueEffect(
  tx: Tx,
  effect: { key: string; kind: string; payload: Json; notBefore?: number },
): Promise<void> {
  await tx.db
    .insertInto('effect')
    .values({
      id: newId(),
      key: effect.key,
      kind: effect.kind,
      payload: canonicalJson(effect.payload),
      state: 'pending',
      attempts: 0,
      not_before: effect.notBefore ?? tx.now,
      claimed_by: null,
      claimed_until: null,
      last_error: null,
      created_at: tx.now,
      done_at: null,
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
  tx.wake(effectsTopic);
}
