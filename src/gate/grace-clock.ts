import type { Tx } from '../store/index.ts';

/** The mark is written at most once in this time, ms. */
const resolutionMs = 1000;

/** The later of now and the latest moment the gate has seen: a clock set back gives no more grace (decision 6, attack 17). */
export async function graceNow(tx: Tx): Promise<number> {
  const { high_water } = await tx.db
    .selectFrom('gate_clock')
    .select('high_water')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  if (tx.now < high_water + resolutionMs) return Math.max(tx.now, high_water);
  await tx.db
    .updateTable('gate_clock')
    .set({ high_water: tx.now })
    .where('id', '=', 1)
    .where('high_water', '<', tx.now)
    .execute();
  return tx.now;
}
