import { canonicalJson, type Json } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';

/** Keeps what followed a landing outside the store (the operator's checkout, commands to push), so that every surface can say it. */
export async function recordAftermath(tx: Tx, landingId: string, aftermath: Json): Promise<void> {
  await tx.db
    .updateTable('landing')
    .set({ aftermath: canonicalJson(aftermath) })
    .where('id', '=', landingId)
    .execute();
  tx.wake('landings', landingId);
}
