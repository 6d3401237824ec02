import { z } from 'zod';

import { timestamp } from './fields.ts';

/** A Telegram user who decides as an operator. */
export const ownerView = z.object({
  telegramId: z.string(),
  /** Name of the operator. */
  operator: z.string(),
  addedBy: z.string(),
  createdAt: timestamp,
});
export type OwnerView = z.infer<typeof ownerView>;

/** How one receiver does. */
export const channelView = z.object({
  /** `webhook`, `telegram` (what comes in), or `telegram:<owner>`. */
  target: z.string(),
  state: z.enum(['ok', 'new', 'failing']),
  /** One sentence for people, without addresses and tokens. */
  message: z.string(),
  failures: z.int(),
  lastReachedAt: timestamp.nullable(),
  /** When a failing one is tried again. */
  retryAt: timestamp.nullable(),
});
export type ChannelView = z.infer<typeof channelView>;

/** The ways to the human. */
export const notifyView = z.object({
  telegram: z.object({ from: z.enum(['environment', 'file']).nullable() }),
  /** The address itself may be a secret (an ntfy topic is one): only its host is shown. */
  webhook: z.object({ host: z.string(), format: z.string(), signatureFile: z.string() }).nullable(),
  owners: z.array(ownerView),
  channels: z.array(channelView),
  /** Telegram ids that wrote without a right last, newest first. */
  strangers: z.array(z.string()),
});
export type NotifyView = z.infer<typeof notifyView>;

export const telegramSetup = z.object({ token: z.string().min(1).max(200) });
export const webhookSetup = z.object({
  url: z.string().min(1).max(2000),
  token: z.string().min(1).max(500).optional(),
});
export type WebhookSetup = z.infer<typeof webhookSetup>;
export const ownerSetup = z.object({ operator: z.string().max(64).optional() });

export const removedView = z.object({ removed: z.boolean() });

/** What came of a test message. */
export const notifyTestView = z.object({
  results: z.array(z.object({ target: z.string(), ok: z.boolean(), message: z.string() })),
});
export type NotifyTestView = z.infer<typeof notifyTestView>;
