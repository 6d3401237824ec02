import { describe, expect, it, test } from 'vitest';

import { eachStore } from '../store/testing.ts';
import { parseAmount } from './amounts.ts';
import { bookUsage } from './book-usage.ts';
import { dayOf, timeZoneOf } from './day.ts';
import { estimateByFormula, estimateTurn, median } from './estimate.ts';
import { builtInPrices, priceOf, priceTokens, readPriceFile } from './prices.ts';
import { settleTurn, reserveTurn } from './reservations.ts';
import { spendingWorld, turn } from '../../test/app/spending-world.ts';

eachStore((_dialect, open) => {
  it('is the median of the last 20 turns of the same agent and kind, guesses left out; else the formula (A-10)', async () => {
    const { store, clock } = await open();
    const { ctx, ...world } = spendingWorld(store);
    const spender = await world.spender();
    const estimate = (agent = 'turing', kind = 'author:brief') =>
      estimateTurn(store.read, ctx, { agent, kind, text: 'Greet mars' });
    const byFormula = { tokens: 13_000, micros: null, source: 'formula', samples: 0 };
    expect(await estimate()).toEqual(byFormula);
    let used = 0;
    const run = async (tokens: number, id: string) => {
      clock.advance(1_000);
      used += tokens;
      const reading = {
        tokens: { input: used, output: 0, cached: 0 },
        cost: { amount: used / 1_000_000, currency: 'USD' },
      };
      await store.tx((tx) => bookUsage(tx, ctx, spender, turn(id), reading));
    };
    for (let index = 0; index < 2; index += 1) await run(1_000_000, `old-${index}`);
    expect(await estimate()).toEqual(byFormula);
    for (let index = 1; index <= 20; index += 1) await run(index * 100, `turn-${index}`);
    expect(await estimate()).toEqual({ tokens: 1_100, micros: 1_100, source: 'history', samples: 20 });
    await store.tx(async (tx) => {
      await reserveTurn(tx, ctx, spender, { turnId: 'silent', tokens: 900_000, micros: null });
      await settleTurn(tx, ctx, spender, { ...turn('silent'), isRun: true });
    });
    expect(await estimate()).toMatchObject({ tokens: 1_100 });
    expect(await estimate('mitnick')).toEqual(byFormula);
    expect(await estimate('turing', 'author:feedback')).toEqual(byFormula);
  });
});

test('the formula grows with the text and the files that it names, and has an end (A-10)', () => {
  const short = estimateByFormula('Fix it');
  expect(estimateByFormula(`Fix it. ${'Carefully. '.repeat(100)}`)).toBeGreaterThan(short);
  expect(estimateByFormula('Fix src/a.ts and src/b.ts')).toBe(short + 3_000);
  expect(estimateByFormula('x'.repeat(10_000_000))).toBe(400_000);
  expect(estimateByFormula('')).toBe(12_000);
  expect(median([])).toBe(0);
  expect(median([3, 1, 2, 10])).toBe(3);
});

describe('prices', () => {
  test('a dated name is found by its model, an unknown one has no price', () => {
    expect(priceOf(builtInPrices, 'claude-sonnet-4-5-20250929')).toEqual({ input: 3, output: 15, cached: 0.3 });
    expect(priceOf(builtInPrices, 'gpt-5-2025-08-07')?.input).toBe(1.25);
    for (const name of ['claude-sonnet-9', 'constructor', '', null])
      expect(priceOf(builtInPrices, name)).toBeUndefined();
    expect(priceTokens({ input: 3, output: 15, cached: 0.3 }, { input: 1_000, output: 100, cached: 5_000 })).toBe(
      1_800,
    );
  });

  test('a file of the operator stands above the list; one that is wrong says where', () => {
    const file = {
      version: '2026-12',
      source: 'contract',
      models: { own: { input: 1, output: 2, cached: 0 } },
      usdPer: { EUR: 1.1 },
    };
    const read = readPriceFile(JSON.stringify(file));
    expect(read).toMatchObject({
      book: { version: '2026-12', models: { own: { input: 1 } }, usdPer: { EUR: 1.1, USD: 1 } },
    });
    const wrong: [string, RegExp][] = [
      ['{', /no JSON/],
      ['[]', /object/],
      ['{"version":"1"}', /source/],
      ['{"version":"1","source":"x","models":{"m":{"input":-1,"output":1,"cached":1}}}', /models\.m/],
      ['{"version":"1","source":"x","usdPer":{"EUR":0}}', /usdPer\.EUR/],
    ];
    for (const [text, fault] of wrong)
      expect(readPriceFile(text)).toMatchObject({ fault: expect.stringMatching(fault) });
  });
});

test('budgets are read as people write them, and refused with what they may be', () => {
  const read = (text: string) => parseAmount(text, { ...builtInPrices, usdPer: { USD: 1, EUR: 1.1 } });
  const good: [string, number | null, number | null][] = [
    ['500k', 500_000, null],
    ['2M', 2_000_000, null],
    ['1.5M, $20', 1_500_000, 20_000_000],
    ['5USD', null, 5_000_000],
    ['10€', null, 11_000_000],
    ['none', null, null],
    ['', null, null],
  ];
  for (const [text, tokens, micros] of good) expect(read(text)).toEqual({ ok: true, value: { tokens, micros } });
  for (const text of ['-5', '$-5', '5XYZ', '1e9', 'much', '$', '2M;$5'])
    expect(read(text)).toMatchObject({ refusal: { code: 'bad_budget', message: expect.stringContaining('2M') } });
});

test('every zone has its day, through changes of its clocks; a name that nobody knows is UTC', () => {
  expect(dayOf(Date.UTC(2026, 2, 29, 22, 30), 'Europe/Paris')).toBe('2026-03-30');
  expect(dayOf(Date.UTC(2026, 9, 25, 22, 30), 'Europe/Paris')).toBe('2026-10-25');
  expect(timeZoneOf('Not/AZone')).toBe('UTC');
  expect(timeZoneOf('Asia/Tokyo')).toBe('Asia/Tokyo');
});
