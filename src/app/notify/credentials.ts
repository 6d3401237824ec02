import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { InstancePaths } from '../../config/index.ts';
import { Fault } from '../../kernel/index.ts';
import { readSecretFile, writeSecretFile } from '../access/index.ts';
import { tokenPattern } from './telegram/bot-api.ts';
import type { WebhookAccess } from './webhook.ts';

/**
 * Token of the bot and access of the webhook: files of mode 0600 under the keys of the home, never in the store, an event or
 * a log. A token in the environment goes before the file.
 */
export interface Credentials {
  telegramToken(): { token: string; from: 'environment' | 'file' } | undefined;
  webhook(): WebhookAccess | undefined;
  /** `undefined` takes it away. */
  setTelegramToken(token: string | undefined): void;
  /** The key of the signature stays when only the address changes. */
  setWebhook(access: { url: string; token?: string | undefined } | undefined): void;
  /** Where the key of the webhook's signature lies, for the operator to copy. */
  readonly webhookFile: string;
}

/** Reads them as they are now; a file that others can read is a fault: then it is no secret any more. */
export function openCredentials(paths: Pick<InstancePaths, 'keys'>, envToken: string | undefined): Credentials {
  const tokenFile = join(paths.keys, 'telegram.token');
  const webhookFile = join(paths.keys, 'webhook.json');
  if (envToken !== undefined && envToken !== '' && !tokenPattern.test(envToken))
    throw new Fault('invalid_setting', 'The environment variable CHANTIER_TELEGRAM_TOKEN is no token of a bot.');
  let token = readSecret(tokenFile);
  let webhook = parseWebhook(readSecret(webhookFile));
  return {
    telegramToken() {
      if (envToken) return { token: envToken, from: 'environment' };
      return token === undefined ? undefined : { token, from: 'file' };
    },
    webhook: () => webhook,
    setTelegramToken(next) {
      writeSecret(tokenFile, next);
      token = next;
    },
    setWebhook(next) {
      const access = next && { ...next, secret: webhook?.secret ?? randomBytes(32).toString('hex') };
      writeSecret(webhookFile, access && JSON.stringify(access));
      webhook = access;
    },
    webhookFile,
  };
}

function parseWebhook(text: string | undefined): WebhookAccess | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as WebhookAccess);
}

function readSecret(file: string): string | undefined {
  const text = readSecretFile(
    file,
    (mode) =>
      new Fault(
        'secret_exposed',
        `Others can read ${file} (mode ${mode}): remove it, take a new token, and set it again with "chantier notify".`,
      ),
  );
  return text || undefined;
}

function writeSecret(file: string, text: string | undefined): void {
  if (text === undefined) rmSync(file, { force: true });
  else writeSecretFile(file, text);
}
