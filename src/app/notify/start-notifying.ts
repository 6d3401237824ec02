import { eventsTopic, type Reconciler, startReconciler } from '../../store/index.ts';
import type { App } from '../app.ts';
import type { AppContext } from '../context.ts';
import { settingsTopic } from '../instance/change-setting.ts';
import { readingTarget, type Receiver } from './channel.ts';
import { listOwners } from './owners.ts';
import { notifyTopic } from './record-sending.ts';
import { type BotApi, openBotApi } from './telegram/bot-api.ts';
import { createStrangerLog } from './telegram/count-strangers.ts';
import { readUpdates } from './telegram/read-updates.ts';
import { openTelegramReceiver } from './telegram/telegram-message.ts';
import { tellReceiver } from './tell-receiver.ts';
import { openWebhook } from './webhook.ts';

/** What reaches the human: loops for what is told and for what comes back (S-35, design section 4). */
export interface Notifying {
  start(): void;
  /** Ends at once; a wait for updates is cut. */
  stop(): Promise<void>;
  /** Does what is due by the store's clock. For tests that moved it. */
  settle(): Promise<void>;
}

/** Builds the loops; they run only where a channel is set up on this node, since its credentials lie in this home. */
export function createNotifying(ctx: AppContext, app: () => App): Notifying {
  const refused = createStrangerLog(ctx.store);
  let telling: Reconciler | undefined;
  let reading: Reconciler | undefined;
  let unlisten: (() => void)[] = [];
  let bot: { token: string; api: Promise<BotApi> } | undefined;

  /** The client for the token of now. */
  const botApi = (token: string): Promise<BotApi> => {
    if (bot?.token !== token) {
      bot = { token, api: openBotApi({ token, apiRoot: ctx.config.get('notify.telegramApi') }) };
    }
    return bot.api;
  };

  const startTelling = (): Reconciler =>
    startReconciler(ctx.store, {
      name: 'notify',
      list: async () => (await listReceivers(ctx, botApi)).map((receiver) => receiver.target),
      pass: async (target, pass) => {
        const receiver = (await listReceivers(ctx, botApi)).find((one) => one.target === target);
        return receiver ? tellReceiver(ctx, receiver, pass) : { kind: 'done' };
      },
      everyMs: 5_000,
      wakeAllOn: ['decisions', eventsTopic, settingsTopic, notifyTopic],
      onPass: ({ id, outcome }) => {
        if (outcome.kind === 'failed') ctx.log.error({ target: id, err: outcome.error }, 'telling');
      },
      onError: (error) => ctx.log.error({ err: error }, 'telling'),
    });

  const startReading = (): Reconciler =>
    startReconciler(ctx.store, {
      name: 'notify-telegram',
      list: async () => (ctx.credentials.telegramToken() ? [readingTarget] : []),
      pass: async (_id, pass) => {
        const found = ctx.credentials.telegramToken();
        if (!found) return { kind: 'done' };
        return readUpdates({ ctx, app, bot: await botApi(found.token), refused, signal: pass.signal });
      },
      wakeAllOn: [notifyTopic],
      onPass: ({ outcome }) => {
        if (outcome.kind === 'failed') ctx.log.error({ err: outcome.error }, 'reading Telegram');
      },
      onError: (error) => ctx.log.error({ err: error }, 'reading Telegram'),
    });

  /** Loops begin with the first channel, and rest without one. */
  const begin = (): void => {
    const hasTelegram = ctx.credentials.telegramToken() !== undefined;
    if (hasTelegram) reading ??= startReading();
    if (hasTelegram || ctx.credentials.webhook()) telling ??= startTelling();
  };

  return {
    start() {
      begin();
      unlisten = [ctx.store.onWake(notifyTopic, begin)];
    },
    async stop() {
      for (const end of unlisten.splice(0)) end();
      const loops = [reading, telling];
      reading = undefined;
      telling = undefined;
      await Promise.all(loops.flatMap((loop) => (loop ? [loop.stop(0)] : [])));
    },
    async settle() {
      telling?.wake();
      await telling?.settle();
    },
  };
}

/** Everyone that is told now: the webhook, and each owner of the list. */
export async function listReceivers(ctx: AppContext, botApi: (token: string) => Promise<BotApi>): Promise<Receiver[]> {
  const texts = ctx.config.get('notify.texts');
  const receivers: Receiver[] = [];
  const webhook = ctx.credentials.webhook();
  if (webhook)
    receivers.push(
      openWebhook(webhook, {
        format: ctx.config.get('notify.webhookFormat') as 'json' | 'ntfy',
        carriesTexts: texts === 'all',
        now: ctx.store.clock.now,
      }),
    );
  const bot = ctx.credentials.telegramToken();
  if (!bot) return receivers;
  for (const owner of await listOwners(ctx.store.read))
    receivers.push(openTelegramReceiver(() => botApi(bot.token), owner.telegramId, texts !== 'none'));
  return receivers;
}
