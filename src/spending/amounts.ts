import { ok, refuse, type Result } from '../kernel/index.ts';
import type { PriceBook } from './prices.ts';
import type { Cap } from './spender.ts';

/** What a budget may look like, for messages and for the settings' pattern. */
export const amountForm = 'tokens (`500k`, `2M`) or money (`$5`, `5.50EUR`), or both with a comma between';

const tokensPattern = /^(\d{1,12}(?:\.\d{1,3})?)([kM]?)$/;
const moneyPattern = /^(?:\$(\d{1,6}(?:\.\d{1,6})?)|(\d{1,6}(?:\.\d{1,6})?) ?(€|[A-Z]{3}))$/;

/** Reads a budget: `500k`, `$5`, `2M,$20`. Empty and `none` are no cap. Refuses what is no amount, and money without a rate. */
export function parseAmount(text: string, book: PriceBook): Result<Cap> {
  const cap: Cap = { tokens: null, micros: null };
  const parts = text.trim() === '' || text.trim() === 'none' ? [] : text.split(',').map((part) => part.trim());
  for (const part of parts) {
    const tokens = tokensPattern.exec(part);
    const money = moneyPattern.exec(part);
    if (tokens) {
      const factor = { '': 1, k: 1_000, M: 1_000_000 }[tokens[2] ?? ''] ?? 1;
      cap.tokens = Math.round(Number(tokens[1]) * factor);
      continue;
    }
    const currency = money?.[1] === undefined ? (money?.[3] === '€' ? 'EUR' : (money?.[3] ?? '')) : 'USD';
    const rate = Object.hasOwn(book.usdPer, currency) ? book.usdPer[currency] : undefined;
    if (!money || rate === undefined)
      return refuse(
        'invalid',
        'bad_budget',
        `${JSON.stringify(part.slice(0, 40))} is no budget: give ${amountForm}${money ? `; prices.json names no rate for ${currency}` : ''}.`,
      );
    cap.micros = Math.round(Number(money[1] ?? money[2]) * rate * 1_000_000);
  }
  return ok(cap);
}
