import { z } from 'zod';

import {
  notifyTestView,
  notifyView,
  ownerSetup,
  ownerView,
  removedView,
  telegramSetup,
  webhookSetup,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

/** Channels to the human, and the owner list of Telegram. */
export function addNotifyRoutes(api: Api, parts: ApiParts): void {
  const { notify } = parts.app;
  addRoute(api, parts, 'GET /api/notify', { summary: 'Show channels and owners', answer: notifyView }, ({ caller }) =>
    notify.show(caller),
  );
  addRoute(
    api,
    parts,
    'PUT /api/notify/telegram',
    { summary: 'Set the token of the Telegram bot', body: telegramSetup, answer: notifyView },
    ({ caller, body }) => notify.setTelegram(caller, body.token),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/notify/telegram',
    { summary: 'Forget the token of the Telegram bot', answer: removedView },
    ({ caller }) => notify.removeTelegram(caller),
  );
  addRoute(
    api,
    parts,
    'PUT /api/notify/webhook',
    { summary: 'Set the webhook', body: webhookSetup, answer: notifyView },
    ({ caller, body }) => notify.setWebhook(caller, body),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/notify/webhook',
    { summary: 'Forget the webhook', answer: removedView },
    ({ caller }) => notify.removeWebhook(caller),
  );
  const owner = z.object({ telegramId: z.string().max(32) });
  addRoute(
    api,
    parts,
    'PUT /api/notify/owners/{telegramId}',
    { summary: 'Let a Telegram user decide as an operator', params: owner, body: ownerSetup, answer: ownerView },
    ({ caller, params, body }) => notify.addOwner(caller, params.telegramId, body.operator),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/notify/owners/{telegramId}',
    { summary: 'Take a Telegram user off the owner list', params: owner, answer: removedView },
    ({ caller, params }) => notify.removeOwner(caller, params.telegramId),
  );
  addRoute(
    api,
    parts,
    'POST /api/notify/tests',
    { summary: 'Send a test message to every receiver', answer: notifyTestView },
    ({ caller }) => notify.test(caller),
  );
}
