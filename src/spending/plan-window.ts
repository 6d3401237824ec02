import type { Tx } from '../store/index.ts';

/** Stores how much of a window of its plan an agent says is used; what is no share from 0 to 1 is ignored. */
export async function storePlanWindow(
  tx: Tx,
  window: { agent: string; name: string; share: number; resetsAtMs?: number },
): Promise<void> {
  const { share, resetsAtMs } = window;
  if (!(share >= 0 && share <= 1)) return;
  const name = window.name.slice(0, 40);
  const row = {
    used_basis_points: Math.round(share * 10_000),
    resets_at: resetsAtMs !== undefined && Number.isSafeInteger(resetsAtMs) && resetsAtMs > 0 ? resetsAtMs : null,
    reported_at: tx.now,
  };
  await tx.db
    .insertInto('plan_window')
    .values({ id: `${window.agent}:${name}`, agent: window.agent, name, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute();
}
