import { expect, test } from 'vitest';

import { dispatchTask } from '../../src/app/dispatch/dispatch-tasks.ts';
import { mustOk } from '../../src/kernel/index.ts';
import { deliver, judge, openWorld, type Step, type World } from '../app/world.ts';

const hang: Step[] = [['write', 'greeting.txt', 'hello\n'], ['hang']];

/** More work than there are slots: some agents work, the rest of the tasks are ready. */
async function setup(options: { tasks: number; slots: number; author?: Step[] }) {
  const world = await openWorld({ settings: { 'sessions.maxActive': options.slots } });
  const checkout = world.checkout();
  for (let at = 1; at <= options.tasks; at += 1)
    await world.run(checkout, `Part ${at}`, { author: [options.author ?? hang], reviewer: [judge(`part-${at}.txt`)] });
  await world.until('every slot to work', async () => {
    const rows = await sessionRows(world);
    return rows.filter((row) => row.turn_open === 1).length === options.slots;
  });
  return world;
}

function sessionRows(world: World) {
  return world.ctx.store.read.selectFrom('session').select(['id', 'state', 'process', 'turn_open']).execute();
}

/** Every loop looks again and again, as it would for as long as the switch is on. */
async function letLoopsLook(world: World): Promise<void> {
  for (let at = 0; at < 6; at += 1) {
    await world.pass(10_000);
    await new Promise((wake) => setTimeout(wake, 250));
  }
}

test('stop --all under load ends every agent and starts nothing afterwards, by itself or by hand, until it is let go on (design 7)', async () => {
  const world = await setup({ tasks: 5, slots: 2 });
  const [stopped] = await Promise.all([
    world.app.sessions.stopAll(world.caller(), 'enough'),
    world.pass(10_000),
    world.app.work.run(world.caller(), { repository: `${world.folder}/app`, request: 'One more', withChanges: false }),
  ]);
  const all = mustOk(stopped).stopped;
  expect(all.length).toBeGreaterThanOrEqual(2);
  await letLoopsLook(world);
  const after = await sessionRows(world);
  expect(after.filter((row) => row.process !== 'ended')).toEqual([]);
  expect(after.every((row) => row.state === 'ABORTED' || row.state === 'START_FAILED')).toBe(true);
  const byHand = await world.app.sessions.start(world.caller(), { workKey: 'x/work-t1', project: 'x' });
  expect(byHand).toMatchObject({ ok: false, refusal: { code: 'halted' } });
  mustOk(await world.app.sessions.goOn(world.caller()));
  await world.until('work to go on', async () => {
    const rows = await sessionRows(world);
    return rows.some((row) => row.state === 'RUNNING');
  });
});

test('a dispatch that was on its way when everything was stopped creates nothing: the switch is asked in its own transaction (design 7)', async () => {
  const world = await setup({ tasks: 2, slots: 1 });
  mustOk(await world.app.sessions.stopAll(world.caller()));
  const before = await sessionRows(world);
  const ready = await world.ctx.store.read
    .selectFrom('task')
    .selectAll()
    .where('status', '=', 'todo')
    .executeTakeFirstOrThrow();
  expect(await dispatchTask(world.ctx, ready)).toMatchObject({ ok: false, refusal: { code: 'halted' } });
  expect(await sessionRows(world)).toHaveLength(before.length);
});

test('down --stop-agents takes its agents along: a slot that comes free is not filled again (design 7)', async () => {
  const world = await setup({ tasks: 4, slots: 1 });
  const down = mustOk(await world.app.instance.prepareDown(world.caller(), { stopAgents: true }));
  expect(down).toMatchObject({ goOn: [], stopped: [{}] });
  await letLoopsLook(world);
  const rows = await sessionRows(world);
  expect(rows).toMatchObject([{ state: 'ABORTED', process: 'ended' }]);
});

test('the outbox works after stop --all and go on in quick turns: a turn without a report is looked after (design 5)', async () => {
  const world = await openWorld();
  const checkout = world.checkout();
  for (let at = 0; at < 3; at += 1) {
    mustOk(await world.app.sessions.stopAll(world.caller()));
    mustOk(await world.app.sessions.goOn(world.caller()));
  }
  const run = await world.run(checkout, 'Greet', {
    author: [deliver('greeting.txt', 'hello\n').slice(0, 2), [['done', 'reminded']]],
    reviewer: [[['hang']]],
  });
  expect((await world.pull(run)).body).toContain('reminded');
  const effects = await world.ctx.store.read
    .selectFrom('effect')
    .select('key')
    .where('kind', '=', 'session.turn-ended')
    .execute();
  expect(new Set(effects.map((one) => one.key)).size).toBe(effects.length);
});
