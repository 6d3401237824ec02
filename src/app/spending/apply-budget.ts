import { ok, type Result } from '../../kernel/index.ts';
import { type BudgetScope, type Cap, parseAmount, readBudget, setBudget } from '../../spending/index.ts';
import type { Tx } from '../../store/index.ts';
import { requireProof } from '../access/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';

/** Sets the budget that `--budget` names. A lower cap needs nobody's yes; one that allows more than now needs a proof. */
export async function applyBudget(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  scope: BudgetScope,
  text: string | undefined,
): Promise<Result<undefined>> {
  if (text === undefined) return ok();
  const cap = parseAmount(text, ctx.spending.prices());
  if (!cap.ok) return cap;
  const now = await readBudget(tx.db, ctx.spending, scope, tx.now);
  if (allowsMore(cap.value, now.cap)) {
    const proof = requireProof(caller, 'decide');
    if (!proof.ok) return proof;
  }
  await setBudget(tx, scope, cap.value, caller.actor);
  return ok();
}

function allowsMore(wanted: Cap, now: Cap): boolean {
  const isMore = (next: number | null, known: number | null) => known !== null && (next === null || next > known);
  return isMore(wanted.tokens, now.tokens) || isMore(wanted.micros, now.micros);
}
