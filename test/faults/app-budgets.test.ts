import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { deliver, judge, openWorld, type Step, type WorldOptions } from '../app/world.ts';

const tokens = (input: number, output: number) => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
});

async function setup(options: WorldOptions = {}) {
  const world = await openWorld({ sandbox: 'none', ...options });
  const checkout = world.checkout();
  return {
    ...world,
    work: (author: Step[][], budget?: string) =>
      world.run(
        checkout,
        'Greet mars',
        { author, reviewer: [[['spend', { cost: 0.5, tokens: tokens(7_000, 300) }], ...judge('greeting.txt')]] },
        budget === undefined ? {} : { budget },
      ),
    settle: (id: string, verdict: Parameters<typeof world.app.decisions.settle>[2]) =>
      world.app.decisions.settle(world.caller(), id, verdict),
    events: async (kind: string) =>
      (await world.ctx.store.read.selectFrom('event').select('facts').where('kind', '=', kind).execute()).length,
  };
}

test('work that runs away is paused in its turn at its cap, and a human raises it (sessions decision 7, sessions case 70)', async () => {
  const { work, session, decision, settle, pull, events } = await setup();
  const run = await work(
    [[['spend', { cost: 2.5 }], ['untilCancelled']], deliver('greeting.txt', 'hello mars\n')],
    '$2',
  );
  const paused = await session(run, 'author', (one) => one.state === 'PAUSED');
  expect(paused.endReason).toBe('budget');
  const asked = await decision(run, 'budget');
  expect(asked.detail).toMatchObject({ scope: 'project', cap_micros: 2_000_000, spent_micros: 2_500_000 });
  expect(asked.title).toContain('$2.50 of $2.00 are used');
  expect(await events('budget.warned')).toBe(1);
  expect(await settle(asked.id, { verdict: 'approve', raise: 'a lot' })).toMatchObject({
    refusal: { code: 'bad_budget' },
  });
  mustOk(await settle(asked.id, { verdict: 'approve', raise: '$5' }));
  await pull(run);
});

test('at 100 % while ESCALATED it is paused as soon as it is RUNNING again (sessions decision 7)', async () => {
  const { work, session, app, caller, decision, settle, said, until } = await setup();
  const asking: Step[] = [
    ['ask', 'Which planet?'],
    ['spend', { cost: 3 }],
  ];
  const run = await work([asking, [['untilCancelled']], [['say', 'went on'], ['untilCancelled']]], '$2');
  const escalated = await session(run, 'author', (one) => one.state === 'ESCALATED');
  const asked = await decision(run, 'budget');
  expect((await session(run, 'author', () => true)).state).toBe('ESCALATED');
  mustOk(await app.sessions.respond(caller(), escalated.workKey, 'Mars.'));
  const paused = await session(run, 'author', (one) => one.state === 'PAUSED');
  expect(paused).toMatchObject({ endReason: 'budget', openEscalations: [] });
  expect(await said(paused.id)).not.toContain('went on');
  mustOk(await settle(asked.id, { verdict: 'approve', raise: '$10' }));
  await until('the next turn', async () => (await said(paused.id)).includes('went on'));
});

test('nothing starts without room for its first turn, and no means that nothing of it starts (L-14, design 9, sessions decision 7)', async () => {
  const { work, decision, settle, sessions, pass, ctx } = await setup();
  const run = await work([deliver('greeting.txt', 'hello mars\n')], '1k');
  const asked = await decision(run, 'budget');
  expect(asked.detail).toMatchObject({ scope: 'project', cap_tokens: 1_000, spent_tokens: 0 });
  expect(await sessions(run)).toHaveLength(0);
  mustOk(await settle(asked.id, { verdict: 'refuse' }));
  await pass(20_000);
  expect(await sessions(run)).toHaveLength(0);
  const open = await ctx.store.read.selectFrom('decision_request').select('id').where('state', '=', 'open').execute();
  expect(open).toHaveLength(0);
});

test('one turn may pass beyond a cap; what author and reviewer used is the cost of the change (sessions decision 7)', async () => {
  const { work, decision, settle, pull, app, caller, ctx, until } = await setup();
  const author: Step[] = [
    ['spend', { cost: 1.25, tokens: tokens(20_000, 1_000) }],
    ...deliver('greeting.txt', 'hello mars\n'),
  ];
  const run = await work([author], '1k');
  const first = await decision(run, 'budget');
  mustOk(await settle(first.id, { verdict: 'approve' }));
  await pull(run);
  const second = await decision(run, 'budget');
  expect(second.id).not.toBe(first.id);
  mustOk(await settle(second.id, { verdict: 'approve', raise: '1M' }));
  const landing = await decision(run, 'landing');
  expect(landing.kind).toBe('landing');
  const sum = async () =>
    (await ctx.store.read.selectFrom('usage_entry').selectAll().where('task_id', '=', run.task.id).execute()).reduce(
      (total, row) => ({
        tokens: total.tokens + row.input_tokens + row.output_tokens,
        micros: total.micros + row.cost_micros,
      }),
      { tokens: 0, micros: 0 },
    );
  await until('both bills', async () => (await sum()).tokens === 28_300);
  expect(await sum()).toEqual({ tokens: 28_300, micros: 1_750_000 });
  const task = mustOk(await app.work.showTask(caller(), run.task.id));
  expect(task.spending).toMatchObject({ tokens: 28_300, costMicros: 1_750_000 });
  expect(await ctx.store.read.selectFrom('budget_reservation').selectAll().execute()).toEqual([]);
});
