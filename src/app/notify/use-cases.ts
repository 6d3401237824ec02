import { newId, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { NotifyTestView, WebhookSetup } from '../../wire/index.ts';
import type { NotifyUseCases } from '../app.ts';
import { requireProof } from '../access/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { ChannelFault, readingTarget, type Receiver, targetOf } from './channel.ts';
import { readChannels } from './channel-views.ts';
import { addOwner, forgetTarget, listOwners, removeOwner } from './owners.ts';
import { notifyTopic } from './record-sending.ts';
import { listReceivers } from './start-notifying.ts';
import { openBotApi, tokenPattern } from './telegram/bot-api.ts';
import { recentStrangers } from './telegram/count-strangers.ts';
import { linkOf } from './write-letter.ts';

/** Setting up the ways to the human. The owner list, the bot's token and the webhook's address are credentials (design section 4). */
export function notifyUseCases(ctx: AppContext): NotifyUseCases {
  const { credentials, store } = ctx;
  return {
    async show() {
      const webhook = credentials.webhook();
      const owners = await listOwners(store.read);
      return ok({
        telegram: { from: credentials.telegramToken()?.from ?? null },
        webhook: webhook
          ? {
              host: new URL(webhook.url).host,
              format: ctx.config.get('notify.webhookFormat'),
              signatureFile: credentials.webhookFile,
            }
          : null,
        owners: owners.map((owner) => ({
          telegramId: owner.telegramId,
          operator: owner.name,
          addedBy: owner.addedBy,
          createdAt: toRfc3339(owner.createdAt),
        })),
        channels: await readChannels(ctx),
        strangers: await recentStrangers(store.read),
      });
    },
    async setTelegram(caller, token) {
      const proof = requireProof(caller, 'lower-safety-setting');
      if (!proof.ok) return proof;
      if (!tokenPattern.test(token.trim()))
        return refuse(
          'invalid',
          'invalid_bot_token',
          'This is no token of a bot: @BotFather gives one like 123456:ABC….',
        );
      if (credentials.telegramToken()?.from === 'environment') return fromEnvironment();
      await configured(ctx, caller, 'telegram', true);
      credentials.setTelegramToken(token.trim());
      await wake(ctx);
      return this.show(caller);
    },
    async removeTelegram(caller) {
      if (credentials.telegramToken()?.from === 'environment') return fromEnvironment();
      const removed = credentials.telegramToken() !== undefined;
      credentials.setTelegramToken(undefined);
      if (removed) await configured(ctx, caller, 'telegram', false);
      const targets = (await listOwners(store.read)).map((owner) => targetOf(owner.telegramId));
      await forget(ctx, [readingTarget, ...targets]);
      return ok({ removed });
    },
    async setWebhook(caller, setup) {
      const proof = requireProof(caller, 'lower-safety-setting');
      if (!proof.ok) return proof;
      const fault = faultOfWebhook(setup);
      if (fault) return refuse('invalid', 'invalid_webhook', fault);
      await configured(ctx, caller, 'webhook', true);
      credentials.setWebhook(setup);
      await wake(ctx);
      return this.show(caller);
    },
    async removeWebhook(caller) {
      const removed = credentials.webhook() !== undefined;
      credentials.setWebhook(undefined);
      if (removed) await configured(ctx, caller, 'webhook', false);
      await forget(ctx, ['webhook']);
      return ok({ removed });
    },
    async addOwner(caller, telegramId, operator) {
      const proof = requireProof(caller, 'lower-safety-setting');
      return proof.ok ? store.tx((tx) => addOwner(tx, { telegramId, operator }, caller.actor)) : proof;
    },
    removeOwner: (caller, telegramId) => store.tx((tx) => removeOwner(tx, telegramId, caller.actor)),
    test: (caller) => sendTests(ctx, caller),
  };
}

function fromEnvironment(): Result<never> {
  return refuse(
    'wrong-state',
    'token_from_environment',
    'The token comes from CHANTIER_TELEGRAM_TOKEN: change it there and start the server again.',
  );
}

function faultOfWebhook({ url }: WebhookSetup): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) return 'A webhook is an http or https address.';
  if (parsed.username !== '' || parsed.password !== '')
    return 'Leave name and password out of the address: a token is given with --token-fd.';
  return undefined;
}

/** Before the file is written: a try that died in between leaves a trace. */
async function configured(ctx: AppContext, caller: Caller, channel: string, on: boolean): Promise<void> {
  await ctx.store.tx((tx) =>
    tx.emit({
      kind: 'notify.configured',
      actor: caller.actor,
      subject: { kind: 'channel', id: channel },
      facts: { on },
    }),
  );
}

async function forget(ctx: AppContext, targets: readonly string[]): Promise<void> {
  await ctx.store.tx(async (tx) => {
    for (const target of targets) await forgetTarget(tx, target);
    tx.wake(notifyTopic);
  });
}

/** A changed channel is tried at once, whatever it waited for. */
async function wake(ctx: AppContext): Promise<void> {
  await ctx.store.tx(async (tx) => {
    await tx.db.updateTable('notify_target').set({ retry_at: null }).execute();
    tx.wake(notifyTopic);
  });
}

/** Sends one message to each receiver now, whatever the hour, and says what came of it. */
async function sendTests(ctx: AppContext, caller: Caller): Promise<Result<NotifyTestView>> {
  const receivers = await listReceivers(ctx, (token) =>
    openBotApi({ token, apiRoot: ctx.config.get('notify.telegramApi') }),
  );
  if (receivers.length === 0)
    return refuse(
      'wrong-state',
      'no_channel',
      'No receiver is set up: "chantier notify telegram" and "chantier notify owner add ID", or "chantier notify webhook URL".',
    );
  const signal = AbortSignal.any([AbortSignal.timeout(20_000), ...(caller.signal ? [caller.signal] : [])]);
  const results = await Promise.all(receivers.map((receiver) => sendTest(ctx, receiver, signal)));
  return ok({ results });
}

async function sendTest(
  ctx: AppContext,
  receiver: Receiver,
  signal: AbortSignal,
): Promise<NotifyTestView['results'][number]> {
  const { target } = receiver;
  try {
    await receiver.send(
      {
        key: `test:${newId()}`,
        subject: 'test',
        kind: 'test',
        isReminder: false,
        priority: 'normal',
        title: 'Test message of Chantier',
        parts: [{ ours: 'If you read this, questions and alerts reach you here.' }],
        buttons: [],
        decisions: [],
        link: linkOf(ctx),
        at: ctx.store.clock.now(),
      },
      signal,
    );
    return { target, ok: true, message: 'sent' };
  } catch (error) {
    if (!(error instanceof ChannelFault)) throw error;
    return { target, ok: false, message: error.message };
  }
}
