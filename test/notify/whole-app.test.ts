import { expect, it } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { openWorld } from '../app/world.ts';
import { startBotServer } from './bot-server.ts';

const owner = 77;

it('in the whole app, /status tells and /stop_all stops everything, as that operator; it goes on to be told (G-19, design 7)', async () => {
  const bot = await startBotServer();
  const world = await openWorld({ sandbox: 'none', settings: { 'notify.telegramApi': bot.url } });
  mustOk(await world.app.notify.setTelegram(world.caller(), bot.token));
  mustOk(await world.app.notify.addOwner(world.caller(), String(owner)));
  bot.write(owner, '/status');
  await bot.shown((message) => /0 of 5 sessions · 0 ready tasks/.test(message.text));
  bot.write(owner, '/stop_all');
  await bot.shown((message) => message.text.startsWith('Everything is stopped'));
  expect(mustOk(await world.app.sessions.status(world.caller()))).toMatchObject({
    halted: true,
    channels: [{ target: 'telegram' }, { target: `telegram:${owner}` }],
  });
  const halted = await world.ctx.store.read
    .selectFrom('event')
    .select(['actor_kind', 'actor_id'])
    .where('kind', '=', 'instance.halted')
    .execute();
  const caller = world.caller().actor;
  expect(halted).toEqual([{ actor_kind: 'operator', actor_id: caller.id }]);
  bot.write(owner, '/status');
  await bot.shown((message) => message.text.includes('HALTED'));
  expect(mustOk(await world.app.notify.test(world.caller())).results).toEqual([
    { target: `telegram:${owner}`, ok: true, message: 'sent' },
  ]);
});
