import type { PriceBook } from './prices.ts';

/** Totals so far, as an agent says them of itself; any member may be missing, wrong or a lie. */
export interface UsageReading {
  tokens?: { input: number; output: number; cached: number };
  cost?: { amount: number; currency: string };
  /** The agent says that a subscription pays. */
  isOnPlan?: boolean;
}

/** The most that one process is believed (10¹⁰ tokens, 100,000 dollars): sums of many stay exact numbers. */
export const mostTokens = 10_000_000_000;
export const mostMicros = 100_000_000_000;

/** A count as a whole number from 0 to `most`, or null: below 0, no number at all, or beyond belief. */
export function cleanCount(value: unknown, most = mostTokens): number | null {
  if (typeof value !== 'number' || !(value >= 0) || value > most) return null;
  return Math.ceil(value);
}

/** An amount in millionths of a dollar, or null where it is none, of an unknown currency, or beyond belief. */
export function cleanCost(cost: UsageReading['cost'], book: PriceBook): number | null {
  if (!cost || !Object.hasOwn(book.usdPer, cost.currency)) return null;
  return cleanCount(Math.round(cost.amount * (book.usdPer[cost.currency] ?? 0) * 1_000_000), mostMicros);
}
