import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { removeOldJournals } from '../../src/app/instance/retention.ts';
import { mustOk } from '../../src/kernel/index.ts';
import type { StatusView } from '../../src/wire/index.ts';
import { deliver, judge, openWorld, type World } from '../app/world.ts';

const words = { author: [deliver('note.txt', 'hello\n')], reviewer: [judge('note.txt')] };
const day = 86_400_000;

function set(world: World, name: string, value: string | number) {
  return world.app.instance.changeSetting(world.caller(), name, value).then(mustOk);
}

test('a disk without room starts nobody, says what may be removed, and dispatch goes on by itself afterwards (issue 5)', async () => {
  const world = await openWorld();
  const run = await world.run(world.checkout(), 'Write', { author: [[['hang']]] });
  const running = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  await set(world, 'disk.minFree', '900000GiB');
  // What the world was opened with is not in its store.
  await set(world, 'gate.phase', 3);
  writeFileSync(join(world.ctx.paths.sessions, running.id, 'big'), Buffer.alloc(3 * 1024 * 1024));
  const taken = await world.app.work.run(world.caller(), {
    repository: world.checkout('second'),
    request: 'More',
    withChanges: false,
  });
  // What the operator wants is kept: it is taken, and says that it waits and for what.
  const held = mustOk(taken);
  expect(held.held).toMatch(/less than disk\.minFree/);
  const typed = await world.cli(['run', 'More still', '--repo', world.checkout('third')]);
  expect([typed.exitCode, typed.err]).toEqual([0, expect.stringMatching(/recorded and waits\. Only .* are free/)]);
  const status = JSON.parse((await world.cli(['status', '--json'])).out) as StatusView;
  expect(status.disk.isShort).toBe(true);
  const journals = status.disk.places.find((place) => place.path === world.ctx.paths.sessions);
  expect(journals?.bytes).toBeGreaterThan(3 * 1024 * 1024);
  expect((await world.cli(['status'])).out).toMatch(/WARNING .* free at .*\n +\d.* MiB {2}journals of agents/);
  const task = mustOk(
    await world.app.work.addTask(world.caller(), run.job.id, { title: 'Later', ready: true } as never),
  );
  await world.pass(60_000);
  expect(status.sessions.map(({ id }) => id)).toEqual([running.id]);
  expect(mustOk(await world.app.sessions.show(world.caller(), running.id)).state).toBe('RUNNING');
  await set(world, 'disk.minFree', '0B');
  await world.until('the waiting task to be started', async () => {
    const all = mustOk(await world.app.sessions.list(world.caller(), { limit: 50 }));
    return [task.id, held.task.id].every((id) => all.items.some((one) => one.taskId === id));
  });
});

test('journals of finished work go after their time; those that something still refers to stay (issue 5)', async () => {
  const world = await openWorld();
  const { sessions } = world.ctx.paths;
  const run = await world.run(world.checkout(), 'Write', words);
  const offer = await world.decision(run, 'landing');
  const all = await world.sessions(run);
  mkdirSync(join(sessions, 'not-a-session'), { recursive: true });
  world.clock.advance(91 * day);
  // The change waits for its human: nothing of it goes, however long that takes.
  expect(await removeOldJournals(world.ctx)).toEqual([]);
  mustOk(await world.app.decisions.settle(world.caller(), offer.id, { verdict: 'approve' }));
  await world.until('the task to be done', async () => {
    return mustOk(await world.app.work.showTask(world.caller(), run.task.id)).status === 'done';
  });
  await world.until('all sessions to be wound up', async () => {
    const rows = await world.ctx.store.read.selectFrom('session').select('wound_up_at').execute();
    return rows.every((row) => row.wound_up_at !== null);
  });
  world.clock.advance(89 * day);
  expect(await removeOldJournals(world.ctx)).not.toContain('not-a-session');
  world.clock.advance(2 * day);
  await removeOldJournals(world.ctx);
  for (const { id } of all) expect(existsSync(join(sessions, id))).toBe(false);
  expect(existsSync(join(sessions, 'not-a-session'))).toBe(true);
  expect(await removeOldJournals(world.ctx)).toEqual([]);
  expect((await world.cli(['logs', all[0]!.id])).out).toBe('');
});
