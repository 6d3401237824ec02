import { accessEvents } from './access.ts';
import { coreEvents } from './core.ts';
import { forgeEvents } from './forge.ts';
import { gateEvents } from './gate.ts';
import { ledgerEvents } from './ledger.ts';
import { notifyEvents } from './notify.ts';
import { reviewEvents } from './review.ts';
import { sessionsEvents } from './sessions.ts';
import { watchedEvents } from './watched.ts';
import { spendingEvents } from './spending.ts';

/** Every event kind with its meaning; the docs are checked against it. */
export const eventKinds = {
  ...coreEvents,
  ...ledgerEvents,
  ...sessionsEvents,
  ...gateEvents,
  ...reviewEvents,
  ...forgeEvents,
  ...accessEvents,
  ...watchedEvents,
  ...notifyEvents,
  ...spendingEvents,
} as const;

export type EventKind = keyof typeof eventKinds;
