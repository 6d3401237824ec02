import type { Command } from 'commander';

import type { NotifyTestView, NotifyView, OwnerView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { failWith } from '../outcome.ts';
import { withKey, withProof } from '../options.ts';
import { askPassphrase, readPassphraseFrom } from '../passphrase.ts';
import { table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  context.action(command.command('list', { isDefault: true }).description('Show channels and owners'), async () => {
    const view = await context.get<NotifyView>('/api/notify');
    return { json: view, text: textOf(view) };
  });
  defineTelegram(command, context);
  defineWebhook(command, context);
  defineOwner(command, context);
  const test = command.command('test').description('Send a test message to every receiver');
  withKey(test);
  context.action(test, async ({ options }) => {
    const view = await context.change<NotifyTestView>('POST', '/api/notify/tests', undefined, options);
    const text = view.results.map((one) => `${one.ok ? 'ok  ' : 'FAIL'}  ${one.target}: ${one.message}`).join('\n');
    return { json: view, text, exitCode: view.results.every((one) => one.ok) ? 0 : 1 };
  });
}

function defineTelegram(command: Command, context: CliContext): void {
  const telegram = command
    .command('telegram')
    .description('Set the token of your bot, as @BotFather gave it; it is asked for and not shown')
    .option('--token-fd <n>', 'Read the token from this open file descriptor instead of asking')
    .option('--off', 'Forget the token');
  withProof(telegram);
  context.action(telegram, async ({ options }) => {
    if (options.off === true) {
      const gone = await context.decide<{ removed: boolean }>('DELETE', '/api/notify/telegram', undefined, options);
      return { json: gone, text: gone.removed ? 'Telegram is off.' : 'Telegram was off.' };
    }
    const token = await secretOf(context, options.tokenFd, 'Token of the bot: ');
    await context.passphrase(options);
    const body = { token };
    const view = await context.decide<NotifyView>('PUT', '/api/notify/telegram', body, { ...options, fresh: true });
    const next = view.owners.length > 0 ? '' : '\nWrite /whoami to your bot, then: chantier notify owner add <your id>';
    return { json: view, text: `The bot is read from now on.${next}` };
  });
}

function defineWebhook(command: Command, context: CliContext): void {
  const webhook = command
    .command('webhook')
    .description('Set the address that messages are posted to: an ntfy topic, or any receiver of JSON')
    .argument('[url]', 'http or https address')
    .option('--token-fd <n>', 'Read a bearer token for it from this open file descriptor')
    .option('--off', 'Forget the address');
  withProof(webhook);
  context.action(webhook, async ({ args: [url], options }) => {
    if (options.off === true) {
      const gone = await context.decide<{ removed: boolean }>('DELETE', '/api/notify/webhook', undefined, options);
      return { json: gone, text: gone.removed ? 'The webhook is off.' : 'There was no webhook.' };
    }
    if (url === undefined) throw failWith('invalid', 'no_address', 'Give the address, or --off.');
    const token = options.tokenFd === undefined ? undefined : readPassphraseFrom(String(options.tokenFd));
    const body = { url, ...(token === undefined ? {} : { token }) };
    const view = await context.decide<NotifyView>('PUT', '/api/notify/webhook', body, { ...options, fresh: true });
    const text = `Messages go to ${view.webhook?.host} as ${view.webhook?.format}. Key of the signature: "secret" in ${view.webhook?.signatureFile}`;
    return { json: view, text };
  });
}

function defineOwner(command: Command, context: CliContext): void {
  const owner = command.command('owner').description('Who decides by Telegram');
  const add = owner
    .command('add')
    .description('Let a Telegram user decide as an operator')
    .argument('<id>', 'Numeric id, as the bot says on /whoami')
    .option('--as <operator>', 'Name of the operator (default: you)');
  withProof(add);
  context.action(add, async ({ args: [id = ''], options }) => {
    const body = options.as === undefined ? {} : { operator: String(options.as) };
    const path = `/api/notify/owners/${encodeURIComponent(id)}`;
    const view = await context.decide<OwnerView>('PUT', path, body, { ...options, fresh: true });
    return { json: view, text: `${view.telegramId} decides as ${view.operator}.` };
  });
  const remove = owner
    .command('remove')
    .description('Take a Telegram user off the list')
    .argument('<id>', 'Numeric id');
  withProof(remove);
  context.action(remove, async ({ args: [id = ''], options }) => {
    const path = `/api/notify/owners/${encodeURIComponent(id)}`;
    const gone = await context.decide<{ removed: boolean }>('DELETE', path, undefined, options);
    return { json: gone, text: gone.removed ? `${id} decides no more.` : `${id} was not on the list.` };
  });
}

async function secretOf(context: CliContext, descriptor: unknown, question: string): Promise<string> {
  return descriptor === undefined ? askPassphrase(question, context.io.err) : readPassphraseFrom(String(descriptor));
}

function textOf(view: NotifyView): string {
  const lines = [
    `Telegram: ${view.telegram.from === null ? 'off' : `token from the ${view.telegram.from}`}`,
    `Webhook: ${view.webhook === null ? 'off' : `${view.webhook.host} (${view.webhook.format})`}`,
  ];
  if (view.owners.length > 0)
    lines.push(
      '',
      table(
        ['TELEGRAM ID', 'DECIDES AS', 'SINCE'],
        view.owners.map((one) => [one.telegramId, one.operator, one.createdAt]),
      ),
    );
  if (view.channels.length > 0)
    lines.push(
      '',
      table(
        ['RECEIVER', 'STATE', 'MESSAGE'],
        view.channels.map((one) => [one.target, one.state, one.message]),
      ),
    );
  if (view.strangers.length > 0) lines.push('', `Wrote without a right: ${view.strangers.join(', ')}`);
  return lines.join('\n');
}
