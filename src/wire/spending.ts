import { z } from 'zod';

import { anyId, timestamp } from './fields.ts';

/** What was used, as the agents said it. */
export const spendingView = z.object({
  /** What counts against caps: in, out and guessed. */
  tokens: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  /** Part of `inputTokens`. */
  cachedTokens: z.int(),
  /** Booked as reserved, because the agent reported none. */
  guessedTokens: z.int(),
  /** Millionths of `currency`; null = nothing is known about money. */
  costMicros: z.int().nullable(),
  currency: z.string(),
  /** `reported` by the agent, `priced` by the price list, paid by a `plan`, or `unknown`. */
  costSources: z.array(z.enum(['reported', 'priced', 'plan', 'unknown'])),
});
export type SpendingView = z.infer<typeof spendingView>;

/** What was expected before it began (A-10). */
export const estimateView = z.object({
  tokens: z.int(),
  costMicros: z.int().nullable(),
  /** `history`: the median of the last ones of the same agent and kind; `formula`: of text length and files. */
  source: z.enum(['history', 'formula']),
  samples: z.int(),
});
export type EstimateView = z.infer<typeof estimateView>;

/** One cap and how it stands; null = not capped by that. */
export const budgetView = z.object({
  scope: z.enum(['day', 'plan', 'project', 'task']),
  /** Day, agent, or codename. */
  name: z.string(),
  capTokens: z.int().nullable(),
  capMicros: z.int().nullable(),
  spentTokens: z.int(),
  spentMicros: z.int(),
  reservedTokens: z.int(),
  reservedMicros: z.int(),
});
export type BudgetView = z.infer<typeof budgetView>;

/** How much of a plan's window an agent says is used, 0 to 1. */
export const planWindowView = z.object({
  agent: z.string(),
  name: z.string(),
  share: z.number(),
  resetsAt: timestamp.nullable(),
});
export type PlanWindowView = z.infer<typeof planWindowView>;

/** The day so far, for `status`. */
export const dayView = z.object({
  day: z.string(),
  spending: spendingView,
  budget: budgetView.nullable(),
  plans: z.array(planWindowView),
  /** Which price list is used, and what is wrong with the operator's. */
  prices: z.object({ version: z.string(), source: z.string(), fault: z.string().nullable() }),
});
export type DayView = z.infer<typeof dayView>;

/** A budget as people write it: `500k`, `2M`, `$5`, `2M,$20`; `none` takes it away. */
export const budgetText = z.string().max(64);

export const recapQuery = z.object({ since: z.string().max(32).default('8h') });

/** What happened since a moment, for somebody who comes back (design section 7). */
export const recapView = z.object({
  since: timestamp,
  until: timestamp,
  landed: z.array(
    z.object({
      landingId: anyId,
      number: z.int(),
      repository: z.string(),
      title: z.string(),
      at: timestamp,
      /** Work and reviews of the change. */
      spending: spendingView,
    }),
  ),
  /** Open decisions, oldest first. */
  waiting: z.array(z.object({ id: anyId, kind: z.string(), title: z.string(), since: timestamp })),
  failed: z.array(z.object({ what: z.string(), state: z.string(), why: z.string(), at: timestamp })),
  running: z.array(z.object({ workKey: z.string(), agent: z.string(), state: z.string() })),
  spending: spendingView,
  plans: z.array(planWindowView),
  /** What to do next, one sentence. */
  next: z.string(),
});
export type RecapView = z.infer<typeof recapView>;

/** `950`, `12k`, `3.4M` tokens. */
export function tokensText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 999_500)
    return `${tokens < 9_950 ? (tokens / 1_000).toFixed(1).replace('.0', '') : Math.round(tokens / 1_000)}k`;
  return `${(tokens / 1_000_000).toFixed(1).replace('.0', '')}M`;
}

/** `$1.25`. */
export function moneyText(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}

/** One short line: `28k tokens (2k guessed), $1.75`. Money that is not known is said to be so, never left out. */
export function spendingText(spending: SpendingView): string {
  if (spending.tokens === 0 && (spending.costMicros ?? 0) === 0) return 'nothing used';
  const guessed = spending.guessedTokens > 0 ? ` (${tokensText(spending.guessedTokens)} of them guessed)` : '';
  return `${tokensText(spending.tokens)} tokens${guessed}, ${costText(spending)}`;
}

function costText({ costMicros, costSources }: SpendingView): string {
  const has = (source: SpendingView['costSources'][number]): boolean => costSources.includes(source);
  if (costMicros === null) return has('plan') ? 'paid by a plan' : 'price unknown';
  const rest = [has('priced') && 'by price list', has('plan') && 'and a plan', has('unknown') && 'part unknown'];
  const words = rest.filter((word) => word !== false);
  return moneyText(costMicros) + (words.length > 0 ? ` (${words.join(', ')})` : '');
}

/** `28k of about 40k tokens`: what an estimate said, beside what was used. */
export function estimateText(estimate: EstimateView): string {
  const cost = estimate.costMicros === null ? '' : `, ${moneyText(estimate.costMicros)}`;
  return `about ${tokensText(estimate.tokens)} tokens${cost} expected (${estimate.source === 'history' ? `median of ${estimate.samples}` : 'by formula'})`;
}

/** `28k of 2M tokens, $1.75 of $20.00`. */
export function capText(budget: BudgetView): string {
  if (budget.scope === 'plan')
    return `${Math.round(budget.spentTokens / 100)} % of the window of ${budget.name} (cap ${Math.round((budget.capTokens ?? 0) / 100)} %)`;
  const parts = [
    budget.capTokens !== null && `${tokensText(budget.spentTokens)} of ${tokensText(budget.capTokens)} tokens`,
    budget.capMicros !== null && `${moneyText(budget.spentMicros)} of ${moneyText(budget.capMicros)}`,
    budget.reservedTokens > 0 && `${tokensText(budget.reservedTokens)} tokens reserved`,
  ];
  return parts.filter((part) => part !== false).join(', ') || 'no cap';
}

/** `Plan of turing: 40 % of five_hour used, new at 2026-01-31T12:00:00Z`. */
export function planText(plan: PlanWindowView): string {
  const reset = plan.resetsAt === null ? '' : `, new at ${plan.resetsAt}`;
  return `Plan of ${plan.agent}: ${Math.round(plan.share * 100)} % of ${plan.name} used${reset}`;
}
