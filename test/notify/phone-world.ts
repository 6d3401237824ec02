import { openNotifyWorld, type NotifyWorldOptions } from './world.ts';
import type { TestStore } from '../../src/store/testing.ts';
import { startBotServer } from './bot-server.ts';

/** The one on the owner list. */
export const owner = 77;
/** Somebody else. */
export const stranger = 666;

/** A world whose bot is set up, with one owner. */
export async function openPhone(opened: TestStore, options: NotifyWorldOptions = {}) {
  const bot = await startBotServer();
  const world = await openNotifyWorld(opened, { botApi: bot.url, ...options });
  await world.withTelegram(bot.token, owner);
  const ask = async (workKey: string, ...texts: string[]) => {
    const holder = await world.sessions.running(workKey);
    const ids: string[] = [];
    for (const text of texts) ids.push(await world.sessions.ask(holder, text));
    return { holder, ids };
  };
  const call = (id: string, text = 'rm -rf build', more: object = {}) =>
    world.open({
      kind: 'call_approval',
      subject: { kind: 'call', id },
      detail: { isApprovable: true, preview: { text }, capabilities: [{ name: 'shell', tier: 'standard' }], ...more },
    });
  return { ...world, bot, ask, call, reopen: opened.reopen };
}
