import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { deliver, openWorld, type Step } from '../app/world.ts';

const limit: Step[] = [['limit']];

test('while the account of an author is limited nothing starts on it: the next task goes to an agent of another account, and waits where there is none; its session reports after a sleep of the machine (design 7, sessions field cases 67 and 70)', async () => {
  const world = await openWorld();
  const { app, ctx, caller } = world;
  const path = world.checkout();
  const first = await world.run(path, 'First', { author: [limit, deliver('first.txt', 'hello\n')] });
  const limited = await world.session(first, 'author', (one) => one.state === 'PAUSED');
  expect(limited.agent).toBe('turing');
  const [turing] = mustOk(await app.work.listAgents(caller())).filter((one) => one.codename === 'turing');
  expect(turing).toMatchObject({ account: 'agent:turing', limited: 'usage' });
  expect(turing?.limitedUntil).not.toBeNull();
  const status = mustOk(await app.sessions.status(caller()));
  expect(status.limits).toMatchObject([{ account: 'agent:turing', reason: 'usage' }]);

  const second = await world.run(path, 'Second', { author: [deliver('second.txt', 'hello\n')] });
  await world.pass(6_000);
  expect(await world.sessions(second, 'author')).toEqual([]);

  const agent = await ctx.store.read
    .selectFrom('agent')
    .selectAll()
    .where('codename', '=', 'turing')
    .executeTakeFirstOrThrow();
  const other = { codename: 'lovelace', family: 'claude', roles: ['author' as const], driver: 'acp' as const };
  mustOk(
    await app.work.addAgent(caller(), { ...other, command: JSON.parse(agent.command) as string[], account: 'team' }),
  );
  const taken = await world.session(second, 'author', () => true);
  expect(taken.agent).toBe('lovelace');

  // Longer than the claim of the task holds.
  await world.pass(120_000);
  const again = await world.session(first, 'author', (one) => one.state === 'DONE');
  expect(again).toMatchObject({ id: limited.id, generation: 2 });
  expect(mustOk(await app.sessions.status(caller())).limits).toEqual([]);
});
