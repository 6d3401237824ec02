import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { eachStore } from '../store/testing.ts';
import { bookUsage } from './book-usage.ts';
import { readSpending } from './read-spending.ts';
import type { UsageReading } from './reading.ts';
import { spendingWorld, turn } from '../../test/app/spending-world.ts';

eachStore((_dialect, open) => {
  const setup = async () => {
    const { store, clock } = await open();
    const world = spendingWorld(store);
    const spender = await world.spender({ conversationId: 'c-1' });
    const book = (reading: UsageReading, of = spender, id = 'turn-1') =>
      store.tx((tx) => bookUsage(tx, world.ctx, of, turn(id), reading));
    const bill = () => readSpending(store.read, { taskId: 't-1' });
    return { ...world, another: world.spender, store, clock, spender, book, bill };
  };
  const tokens = (input: number, output: number, cached = 0): UsageReading => ({ tokens: { input, output, cached } });
  const dollars = (amount: number): UsageReading => ({ cost: { amount, currency: 'USD' } });

  it('books totals once, however often a journal is read again (sessions decision 7)', async () => {
    const { book, bill } = await setup();
    for (const reading of [tokens(100, 10, 40), dollars(0.25), tokens(100, 10, 40), dollars(0.25)]) await book(reading);
    for (const reading of [tokens(300, 30, 90), dollars(0.5), tokens(100, 10, 40)]) await book(reading);
    expect(await bill()).toMatchObject({ input: 300, output: 30, cached: 90, tokens: 330, micros: 500_000 });
  });

  it('a new generation that counts from 0 adds, one that resumes and counts on adds only what is new (sessions decision 7)', async () => {
    const { book, bill, spender } = await setup();
    await book(tokens(1_000, 100));
    await book(dollars(1));
    const fresh = { ...spender, generation: 2 };
    await book(tokens(50, 5), fresh);
    await book(dollars(0.1), fresh);
    expect(await bill()).toMatchObject({ tokens: 1_155, micros: 1_100_000 });
    const resumed = { ...spender, generation: 3, resumesConversation: 'c-1' };
    await book(tokens(70, 7), resumed);
    await book(dollars(0.15), resumed);
    expect(await bill()).toMatchObject({ tokens: 1_177, micros: 1_150_000 });
  });

  it('an agent that names somebody else’s conversation inherits no totals of it (sessions case 70)', async () => {
    const world = await setup();
    await world.book(tokens(1_000, 100));
    const thief = await world.another({ taskId: 't-2', conversationId: 'c-1', resumesConversation: 'c-1' });
    await world.book(tokens(1_100, 110), thief);
    expect(await readSpending(world.store.read, { taskId: 't-2' })).toMatchObject({ tokens: 1_210 });
    expect(await world.bill()).toMatchObject({ tokens: 1_100 });
  });

  it('no number that an agent can say lowers its bill or overflows it (sessions case 70)', async () => {
    const { book, bill } = await setup();
    await book({ ...tokens(500, 50, 100), ...dollars(2) });
    const before = await bill();
    const bad = [-1, -1e300, 1e300, Number.NaN, Infinity, -Infinity, 0.5, 2 ** 53, 0];
    for (const input of bad)
      for (const output of bad) {
        await book({ tokens: { input, output, cached: input } });
        await book(dollars(input));
      }
    const after = await bill();
    expect(after.tokens).toBeGreaterThanOrEqual(before.tokens);
    expect(after.micros).toBeGreaterThanOrEqual(before.micros);
    expect(Number.isSafeInteger(after.tokens) && Number.isSafeInteger(after.micros)).toBe(true);
    expect(after.tokens).toBeLessThan(1_000);
  });

  it('any order of any readings gives the highest of each, never less (sessions decision 7)', async () => {
    const { store, ctx, spender } = await setup();
    let generation = 1;
    const reading = fc.record({ input: fc.double(), output: fc.double(), cached: fc.double() });
    await fc.assert(
      fc.asyncProperty(fc.array(reading, { maxLength: 6 }), async (readings) => {
        const one = { ...spender, generation: (generation += 1), taskId: `t-${generation}` };
        let last = 0;
        for (const said of readings) {
          await store.tx((tx) => bookUsage(tx, ctx, one, turn('t'), { tokens: said }));
          const sum = await readSpending(store.read, { taskId: one.taskId });
          expect(sum.tokens).toBeGreaterThanOrEqual(last);
          expect(sum.cached).toBeLessThanOrEqual(sum.input);
          last = sum.tokens;
        }
      }),
      { numRuns: 25 },
    );
  });

  it('prices what has a price, says unknown of what has none, and never prices twice what the agent names later', async () => {
    const { book, bill, store } = await setup();
    await book(tokens(1_000_000, 0));
    expect(await bill()).toMatchObject({ micros: 0, sources: ['unknown'] });
    const row = {
      id: 'a',
      codename: 'turing',
      nickname: null,
      roles: '["author"]',
      agent_group: null,
      family: 'codex',
    };
    const rest = {
      tty: 0,
      driver: 'codex',
      command: '["/bin/codex"]',
      account: null,
      env_names: '[]',
      prompt: '',
    } as const;
    const more = { active: 1, source: 'operator', version: 1, created_at: 1, updated_at: 1, retired_at: null } as const;
    await store.tx((tx) =>
      tx.db
        .insertInto('agent')
        .values({ ...row, ...rest, ...more, default_model: 'gpt-5-codex' })
        .execute(),
    );
    await book(tokens(2_000_000, 100_000, 400_000));
    // 600,000 fresh at 1.25 + 400,000 cached at 0.125 + 100,000 out at 10 dollars for a million.
    expect(await bill()).toMatchObject({ micros: 750_000 + 50_000 + 1_000_000, sources: ['priced'] });
    await book(dollars(2.5));
    expect(await bill()).toMatchObject({ micros: 2_500_000 });
  });

  it('a subscription is tokens, never money; what the operator says of it stands above what the agent says', async () => {
    const { book, bill, settings } = await setup();
    await book({ ...tokens(10, 1), ...dollars(3), isOnPlan: true });
    expect(await bill()).toMatchObject({ tokens: 11, micros: 0, sources: ['plan'] });
    settings.billing = new Map([['turing', 'metered']]);
    await book({ ...tokens(20, 2), ...dollars(4), isOnPlan: true });
    expect(await bill()).toMatchObject({ tokens: 22, micros: 1_000_000 });
  });

  it('each booking keeps its day, whatever clock and zone do afterwards (sessions decision 7)', async () => {
    const { book, bill, clock, settings, store } = await setup();
    await book(tokens(10, 0));
    clock.advance(24 * 3_600_000);
    await book(tokens(30, 0));
    clock.advance(-24 * 3_600_000);
    settings.timeZone = 'Pacific/Kiritimati';
    await book(tokens(60, 0));
    const days = await store.read.selectFrom('usage_entry').select(['day', 'input_tokens']).orderBy('day').execute();
    expect(days).toEqual([
      { day: '2026-01-01', input_tokens: 40 },
      { day: '2026-01-02', input_tokens: 20 },
    ]);
    expect(await bill()).toMatchObject({ tokens: 60 });
  });
});
