import { systemActor } from '../../../kernel/index.ts';
import type { Store } from '../../../store/index.ts';
import type { Db } from '../../dispatch/db.ts';

/** So many become events of their own in an hour; the others are counted into the next one. Anybody can write to a bot, and events stay for ever. */
const perHour = 30;
const hourMs = 3_600_000;

/** Gives the function that records what had no right by Telegram: who (a number) and why (a code), never what was written. */
export function createStrangerLog(store: Store): (reason: string, telegramId: string) => Promise<void> {
  let window = { startedAt: 0, written: 0, left: 0 };
  return async (reason, telegramId) => {
    const now = store.clock.now();
    const leftBefore = window.left;
    if (now - window.startedAt >= hourMs || now < window.startedAt) window = { startedAt: now, written: 0, left: 0 };
    if (window.written >= perHour) {
      window.left += 1;
      return;
    }
    window.written += 1;
    const isFirst = window.written === 1 && leftBefore > 0;
    await store.tx((tx) =>
      tx.emit({
        kind: 'telegram.refused',
        actor: systemActor('notify'),
        subject: { kind: 'telegram-user', id: /^\d{1,20}$/.test(telegramId) ? telegramId : 'unknown' },
        facts: { reason, ...(isFirst ? { not_listed: leftBefore } : {}) },
      }),
    );
  };
}

/** Ids that wrote without a right last, newest first: so that an operator can recognise a second phone. */
export async function recentStrangers(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('event')
    .select('subject_id')
    .where('kind', '=', 'telegram.refused')
    .where('subject_id', '!=', 'unknown')
    .orderBy('ord', 'desc')
    .limit(50)
    .execute();
  return [...new Set(rows.map((row) => row.subject_id))].slice(0, 5);
}
