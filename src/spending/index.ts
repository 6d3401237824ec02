/** Spending: what agents use, what it costs, what they may still use (sessions decision 7, A-10). */
export { amountForm, parseAmount } from './amounts.ts';
export { bookUsage } from './book-usage.ts';
export type { BudgetVerdict } from './budgets.ts';
export {
  askAboutBudget,
  budgetsTopic,
  findUsedUp,
  scopeOf,
  setBudget,
  settleBudget,
  warnShare,
  withdrawSettled,
} from './budgets.ts';
export type { BudgetScope, BudgetState } from './caps.ts';
export { budgetId, judge, readBudget, scopesOf } from './caps.ts';
export { dayOf, timeZoneOf } from './day.ts';
export type { Estimate } from './estimate.ts';
export {
  estimateByFormula,
  estimateSession,
  estimateTurn,
  keepEstimate,
  readEstimates,
  readTaskEstimate,
} from './estimate.ts';
export { storePlanWindow } from './plan-window.ts';
export type { PriceBook } from './prices.ts';
export { builtInPrices, readPriceFile } from './prices.ts';
export type { Spending, SpendingFilter } from './read-spending.ts';
export { nothingSpent, readSpending, readSpendingOfSessions, sumUsage } from './read-spending.ts';
export type { UsageReading } from './reading.ts';
export { cleanCount } from './reading.ts';
export type { TurnNeed } from './reservations.ts';
export { releaseStale, reserveTurn, settleTurn } from './reservations.ts';
export type { Cap, Spender, SpendingContext, SpendingSettings } from './spender.ts';
export type { Booked } from './usage-entries.ts';
