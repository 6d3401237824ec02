import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { Config, InstancePaths } from '../../config/index.ts';
import {
  builtInPrices,
  type Cap,
  parseAmount,
  type PriceBook,
  readPriceFile,
  type SpendingContext,
  timeZoneOf,
} from '../../spending/index.ts';

/** What the instance's folder may hold a price list in. */
const priceFileName = 'prices.json';

/** Budgets as the settings have them now, and prices as the operator's file has them. */
export function createSpending({ config, paths }: { config: Config; paths: InstancePaths }): SpendingContext {
  const prices = () => readPrices(paths).book;
  const capOf = (name: 'budget.day' | 'budget.project' | 'budget.task'): Cap => {
    const parsed = parseAmount(config.get(name), prices());
    // A cap in a currency whose rate was taken out of the file: nothing may be spent until it is mended (fail closed).
    return parsed.ok ? parsed.value : { tokens: 0, micros: null };
  };
  return {
    prices,
    settings: () => ({
      day: capOf('budget.day'),
      project: capOf('budget.project'),
      task: capOf('budget.task'),
      planBasisPoints: config.get('budget.plan') === 0 ? null : config.get('budget.plan') * 100,
      timeZone: timeZoneOf(config.get('budget.timeZone')),
      billing: new Map(
        config
          .get('budget.billing')
          .split(',')
          .filter(Boolean)
          .map((part) => part.split('=') as [string, 'plan' | 'metered']),
      ),
    }),
  };
}

const read = new Map<string, { at: number; size: number; book: PriceBook; fault: string | null }>();

/** The price list, read anew when its file changed. A file that is wrong is not used; `fault` says what is wrong. */
export function readPrices(paths: Pick<InstancePaths, 'home'>): { book: PriceBook; fault: string | null } {
  const file = join(paths.home, priceFileName);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) return { book: builtInPrices, fault: null };
  const known = read.get(file);
  if (known && known.at === stat.mtimeMs && known.size === stat.size) return known;
  const parsed =
    stat.size > 1_000_000 ? { fault: 'it is larger than 1 MB' } : readPriceFile(readFileSync(file, 'utf8'));
  const made =
    'book' in parsed
      ? { book: parsed.book, fault: null }
      : { book: builtInPrices, fault: `${file} is not used: ${parsed.fault}.` };
  read.set(file, { at: stat.mtimeMs, size: stat.size, ...made });
  return made;
}
