import type { Tx } from '../store/index.ts';

/** No plan has more windows; what an agent names beyond them is not kept. */
const mostWindows = 8;
/** No plan's window is longer than a month; an end beyond that was misread, or is a lie that would close the plan for good. */
const longestMs = 32 * 86_400_000;

/**
 * Stores how much of a window of its plan an agent says is used; what is no share from 0 to 1, or no name, is ignored. Whatever
 * it says is bounded: every surface shows it, and every turn is judged by it.
 */
export async function storePlanWindow(
  tx: Tx,
  window: { agent: string; name: string; share: number; resetsAtMs?: number },
): Promise<void> {
  const { agent, name, share, resetsAtMs } = window;
  if (!(share >= 0 && share <= 1) || !/^[\w.:-]{1,40}$/.test(name)) return;
  const known = await tx.db.selectFrom('plan_window').select('id').where('agent', '=', agent).execute();
  const id = `${agent}:${name}`;
  if (known.length >= mostWindows && !known.some((one) => one.id === id)) return;
  const isTime = resetsAtMs !== undefined && Number.isSafeInteger(resetsAtMs) && resetsAtMs > 0;
  const row = {
    used_basis_points: Math.round(share * 10_000),
    resets_at: isTime ? Math.min(resetsAtMs, tx.now + longestMs) : null,
    reported_at: tx.now,
  };
  await tx.db
    .insertInto('plan_window')
    .values({ id, agent, name, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute();
}
