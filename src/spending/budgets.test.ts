import { expect, it } from 'vitest';

import { mustOk, systemActor } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { bookUsage } from './book-usage.ts';
import { askAboutBudget, findUsedUp, setBudget, settleBudget, withdrawSettled } from './budgets.ts';
import { readBudget } from './caps.ts';
import { storePlanWindow } from './plan-window.ts';
import { releaseStale, reserveTurn, settleTurn } from './reservations.ts';
import { readSpending } from './read-spending.ts';
import type { Cap, Spender } from './spender.ts';
import { spendingWorld, turn } from '../../test/app/spending-world.ts';

const actor = systemActor('test');
const cap = (tokens: number | null, micros: number | null = null): Cap => ({ tokens, micros });
const task = { scope: 'task', subject: 't-1' } as const;

eachStore((_dialect, open) => {
  const setup = async (given: Parameters<typeof spendingWorld>[1] = {}) => {
    const { store, clock, reopen } = await open();
    const world = spendingWorld(store, given);
    const { ctx } = world;
    return {
      ...world,
      store,
      clock,
      reopen,
      reserve: (who: Spender, tokens: number, turnId: string | null = 'turn-1', micros: number | null = null) =>
        store.tx((tx) => reserveTurn(tx, ctx, who, { turnId, tokens, micros })),
      use: (who: Spender, input: number, id = 'turn-1') =>
        store.tx((tx) => bookUsage(tx, ctx, who, turn(id), { tokens: { input, output: 0, cached: 0 } })),
      settle: (who: Spender, id = 'turn-1', isRun = true) =>
        store.tx((tx) => settleTurn(tx, ctx, who, { ...turn(id), isRun })),
      usedUp: (who: Spender) => store.tx((tx) => findUsedUp(tx, ctx, who)),
      state: (scope: Parameters<typeof readBudget>[2] = task) => readBudget(store.read, ctx, scope, clock.now()),
      decide: (verdict: Parameters<typeof settleBudget>[3], id = 'task:t-1') =>
        store.tx((tx) => settleBudget(tx, ctx, id, verdict, actor)),
      open: () => store.read.selectFrom('decision_request').select('subject_id').where('state', '=', 'open').execute(),
    };
  };

  it('two sessions that reserve at once cannot both take the last room (sessions decision 7)', async () => {
    const { reserve, spender, state } = await setup({ task: cap(100) });
    const both = [await spender(), await spender()];
    for (let round = 0; round < 5; round += 1) {
      const results = await Promise.all(both.map((one) => reserve(one, 60, `turn-${round}`)));
      expect(results.filter((result) => result.ok)).toHaveLength(1);
      expect(results.find((result) => !result.ok)).toMatchObject({ refusal: { code: 'budget_reserved' } });
    }
    expect((await state()).reserved.tokens).toBe(60);
  });

  it('all of day, project and task or none: what one cap refuses is reserved nowhere (sessions decision 7)', async () => {
    const { reserve, spender, state } = await setup({ day: cap(1_000), project: cap(500), task: cap(100) });
    const refused = await reserve(await spender(), 101);
    expect(refused).toMatchObject({
      refusal: {
        kind: 'budget',
        code: 'budget_exhausted',
        facts: { scope: 'task', cap_tokens: 100, need_tokens: 101 },
      },
    });
    for (const scope of [task, { scope: 'project', subject: 'p-1' }, { scope: 'day', subject: '2026-01-01' }] as const)
      expect((await state(scope)).reserved.tokens).toBe(0);
  });

  it('what is used is no longer reserved, and the end of the turn gives the rest back (sessions decision 7)', async () => {
    const { reserve, use, settle, spender, state } = await setup({ task: cap(100) });
    const one = await spender();
    mustOk(await reserve(one, 60));
    await use(one, 25);
    expect(await state()).toMatchObject({ spent: { tokens: 25 }, reserved: { tokens: 35 } });
    await settle(one);
    expect(await state()).toMatchObject({ spent: { tokens: 25 }, reserved: { tokens: 0 } });
  });

  it('a turn whose agent reports nothing is booked as what was reserved, without money; one that never ran is not', async () => {
    const { reserve, settle, spender, state, store } = await setup({ task: cap(100) });
    const one = await spender();
    mustOk(await reserve(one, 40));
    await settle(one, 'turn-1', false);
    expect((await state()).spent.tokens).toBe(0);
    mustOk(await reserve(one, 40, 'turn-2'));
    await settle(one, 'turn-2');
    await settle(one, 'turn-2');
    expect((await state()).spent.tokens).toBe(40);
    expect(await readSpending(store.read, { taskId: 't-1' })).toMatchObject({
      guessed: 40,
      micros: 0,
      sources: ['unknown'],
    });
  });

  it('warns at 80 %, once for each cap (sessions decision 7)', async () => {
    const { use, usedUp, spender, events, decide } = await setup({ task: cap(100) });
    const one = await spender();
    await use(one, 79);
    await usedUp(one);
    expect(await events('budget.warned')).toHaveLength(0);
    await use(one, 80);
    for (let again = 0; again < 3; again += 1) expect(await usedUp(one)).toBeUndefined();
    expect(await events('budget.warned')).toHaveLength(1);
    mustOk(await decide({ kind: 'raise', by: cap(100) }));
    await use(one, 160);
    await usedUp(one);
    expect(await events('budget.warned')).toHaveLength(2);
  });

  it('at 100 % the budget is used up and asked about once: a raise makes room, one turn may pass, or it is stopped', async () => {
    const world = await setup({ task: cap(100) });
    const { use, usedUp, spender, reserve, settle, decide, store, ctx } = world;
    const one = await spender();
    await use(one, 100);
    expect(await usedUp(one)).toMatchObject({ id: 'task:t-1', spent: { tokens: 100 } });
    const ask = () => store.tx((tx) => askAboutBudget(tx, ctx, task, { sessionId: one.sessionId }));
    await Promise.all([ask(), ask()]);
    expect(await world.open()).toEqual([{ subject_id: 'task:t-1' }]);
    expect(await world.events('budget.exhausted')).toHaveLength(1);
    expect(await reserve(one, 1)).toMatchObject({ refusal: { code: 'budget_exhausted' } });
    mustOk(await decide({ kind: 'once' }));
    mustOk(await reserve(one, 50, 'turn-2'));
    await use(one, 150, 'turn-2');
    expect(await usedUp(one)).toBeUndefined();
    await settle(one, 'turn-2');
    expect(await reserve(one, 1, 'turn-3')).toMatchObject({ refusal: { code: 'budget_exhausted' } });
    mustOk(await decide({ kind: 'raise', by: cap(100) }));
    mustOk(await reserve(one, 50, 'turn-3'));
    mustOk(await decide({ kind: 'stop' }));
    await settle(one, 'turn-3', false);
    expect(await reserve(one, 1, 'turn-4')).toMatchObject({ refusal: { code: 'budget_exhausted' } });
    await store.tx((tx) => setBudget(tx, task, cap(1_000), actor));
    mustOk(await reserve(one, 1, 'turn-4'));
  });

  it('a cap in money holds money, is raised by money, and lets pass what has no price', async () => {
    const { reserve, spender, decide, store, state } = await setup();
    await store.tx((tx) => setBudget(tx, task, cap(null, 1_000_000), actor));
    const one = await spender();
    expect(await reserve(one, 10, 'turn-1', 1_000_001)).toMatchObject({ refusal: { code: 'budget_exhausted' } });
    expect(await decide({ kind: 'raise', by: cap(500) })).toMatchObject({ refusal: { code: 'raise_without_effect' } });
    mustOk(await decide({ kind: 'raise', by: cap(null, 500_000) }));
    mustOk(await reserve(one, 10, 'turn-1', 1_000_001));
    expect(await state()).toMatchObject({ cap: { micros: 1_500_000 }, reserved: { micros: 1_000_001 } });
    mustOk(await reserve(one, 10_000_000, 'turn-1', null));
  });

  it('a day ends at midnight of its zone: what was asked about it is withdrawn, and nothing is skipped or doubled', async () => {
    const world = await setup({ day: cap(100), timeZone: 'Europe/Paris' });
    const { use, reserve, spender, clock, store, ctx } = world;
    const one = await spender();
    await use(one, 100);
    const day = { scope: 'day', subject: '2026-01-01' } as const;
    await store.tx((tx) => askAboutBudget(tx, ctx, day, {}));
    clock.advance(22 * 3_600_000 + 59 * 60_000);
    expect(await reserve(one, 1)).toMatchObject({ refusal: { facts: { scope: 'day', subject: '2026-01-01' } } });
    clock.advance(60_000);
    mustOk(await reserve(one, 100));
    await store.tx((tx) => withdrawSettled(tx, ctx, '2026-01-02'));
    expect(await world.open()).toEqual([]);
    clock.advance(-3_600_000);
    expect(await reserve(one, 1)).toMatchObject({ refusal: { code: 'budget_exhausted' } });
  });

  it('what a dead process has reserved is given back, what still starts or is about to begin is not (sessions case 70)', async () => {
    const world = await setup({ task: cap(100) });
    const { reserve, spender, clock, store, state } = world;
    const [ended, idle, working] = [await spender(), await spender(), await spender()];
    for (const one of [ended, idle, working]) mustOk(await reserve(one, 30));
    const set = (id: string, values: object) =>
      store.tx((tx) => tx.db.updateTable('session').set(values).where('id', '=', id).execute());
    await set(ended.sessionId, { state: 'CRASHED', ended_at: 1, process: 'ended', wound_up_at: 1 });
    await set(working.sessionId, { turn_open: 1 });
    const again = await world.reopen();
    expect(await again.tx((tx) => releaseStale(tx))).toBe(1);
    clock.advance(60_001);
    expect(await again.tx((tx) => releaseStale(tx))).toBe(1);
    await again.close();
    expect((await state()).reserved.tokens).toBe(30);
    expect(await world.events('budget.released')).toHaveLength(2);
  });

  it('a transaction that dies after it reserved leaves nothing reserved (sessions case 70)', async () => {
    const { spender, store, ctx, state } = await setup({ task: cap(100) });
    const one = await spender();
    const need = { turnId: 'turn-1', tokens: 60, micros: null };
    const dying = store.tx(async (tx) => {
      mustOk(await reserveTurn(tx, ctx, one, need));
      throw new Error('killed');
    });
    await expect(dying).rejects.toThrow('killed');
    expect((await state()).reserved.tokens).toBe(0);
  });

  it('on a plan turns begin up to a share of its window, until that begins anew (sessions decision 7)', async () => {
    const { reserve, spender, clock, store } = await setup({ planBasisPoints: 8_000 });
    const one = await spender();
    const report = (share: number) =>
      store.tx((tx) =>
        storePlanWindow(tx, { agent: 'turing', name: 'five_hour', share, resetsAtMs: clock.now() + 3_600_000 }),
      );
    for (const wrong of [Number.NaN, -1, 1e300]) await report(wrong);
    await report(0.79);
    mustOk(await reserve(one, 10));
    await report(0.8);
    expect(await reserve(one, 10)).toMatchObject({ refusal: { facts: { scope: 'plan', subject: 'turing' } } });
    clock.advance(3_600_001);
    mustOk(await reserve(one, 10));
  });
});
