import { toRfc3339 } from '../../kernel/index.ts';
import {
  type BudgetScope,
  dayOf,
  type Estimate,
  nothingSpent,
  readBudget,
  readSpending,
  type Spending,
} from '../../spending/index.ts';
import type { BudgetView, DayView, EstimateView, PlanWindowView, SpendingView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { readPrices } from './create-spending.ts';

/** What was used, as clients see it. Money is null where none is known: a plan pays, or there is no price. */
export function spendingView(spending: Spending = nothingSpent): SpendingView {
  const isMoney = spending.micros > 0 || spending.sources.some((one) => one === 'reported' || one === 'priced');
  return {
    tokens: spending.tokens,
    inputTokens: spending.input,
    outputTokens: spending.output,
    cachedTokens: spending.cached,
    guessedTokens: spending.guessed,
    costMicros: isMoney ? spending.micros : null,
    currency: 'USD',
    costSources: [...new Set(spending.sources)].toSorted(),
  };
}

export function estimateView(estimate: Estimate | undefined): EstimateView | null {
  return estimate
    ? { tokens: estimate.tokens, costMicros: estimate.micros, source: estimate.source, samples: estimate.samples }
    : null;
}

/** One budget as clients see it; null where nothing is capped. */
export async function budgetView(
  ctx: Pick<AppContext, 'store' | 'spending'>,
  scope: BudgetScope,
  name: string,
): Promise<BudgetView | null> {
  const state = await readBudget(ctx.store.read, ctx.spending, scope, ctx.store.clock.now());
  if (state.cap.tokens === null && state.cap.micros === null) return null;
  return {
    scope: scope.scope,
    name,
    capTokens: state.cap.tokens,
    capMicros: state.cap.micros,
    spentTokens: state.spent.tokens,
    spentMicros: state.spent.micros,
    reservedTokens: state.reserved.tokens,
    reservedMicros: state.reserved.micros,
  };
}

/** The day so far, for `status`. */
export async function readDay(ctx: AppContext): Promise<DayView> {
  const day = dayOf(ctx.store.clock.now(), ctx.spending.settings().timeZone);
  const { book, fault } = readPrices(ctx.paths);
  return {
    day,
    spending: spendingView(await readSpending(ctx.store.read, { day })),
    budget: await budgetView(ctx, { scope: 'day', subject: day }, day),
    plans: await planViews(ctx),
    prices: { version: book.version, source: book.source, fault },
  };
}

/** The windows of plans that have not begun anew since they were reported. */
export async function planViews(ctx: Pick<AppContext, 'store'>): Promise<PlanWindowView[]> {
  const rows = await ctx.store.read.selectFrom('plan_window').selectAll().orderBy('id').execute();
  const now = ctx.store.clock.now();
  return rows
    .filter((row) => row.resets_at === null || row.resets_at > now)
    .map((row) => ({
      agent: row.agent,
      name: row.name.replaceAll(/[^\w .-]/g, '?'),
      share: row.used_basis_points / 10_000,
      resetsAt: row.resets_at === null ? null : toRfc3339(row.resets_at),
    }));
}
