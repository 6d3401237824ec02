import { systemActor } from '../../kernel/index.ts';
import { backOffMs, openDecision, type Tx, voidDecisions } from '../../store/index.ts';
import { channelOf, type ChannelFault } from './channel.ts';
import type { Planned } from './plan-message.ts';
import { nextReminderAt } from './schedule.ts';

/** So many failures in a row become a decision; it goes on being tried. */
const failuresUntilAsked = 8;
/** Longest wait between tries of a receiver that fails. */
const longestBackOffMs = 15 * 60_000;
/** How long a sent message is known, for answers to it. */
const rememberedMs = 30 * 24 * 60 * 60 * 1000;

const actor = systemActor('notify');

/** The message arrived: reminders are planned, alerts are done with. */
export async function recordSent(
  tx: Tx,
  message: Planned,
  sent: { remoteId?: string; decisions: readonly string[] },
): Promise<void> {
  await tx.db
    .updateTable('notice_message')
    .set({
      state: 'sent',
      sent_at: tx.now,
      remote_id: sent.remoteId ?? null,
      decisions: JSON.stringify(sent.decisions),
    })
    .where('key', '=', message.key)
    .execute();
  await planReminders(tx, message);
  await tx.db
    .deleteFrom('notice_message')
    .where('target', '=', message.target)
    .where('state', '=', 'sent')
    .where('sent_at', '<', tx.now - rememberedMs)
    .execute();
  await recordReached(tx, message.target);
}

/** Nothing of it is open any more: it is not sent. */
export async function dropMessage(tx: Tx, message: Planned): Promise<void> {
  await tx.db.deleteFrom('notice_message').where('key', '=', message.key).where('state', '=', 'sending').execute();
}

/** The receiver will never take this message: its subjects are tried again with their next reminders. */
export async function retireMessage(tx: Tx, message: Planned): Promise<void> {
  await dropMessage(tx, message);
  await planReminders(tx, message);
}

async function planReminders(tx: Tx, message: Planned): Promise<void> {
  for (const part of message.parts) {
    if (part.subject.startsWith('alert:')) {
      await tx.db.deleteFrom('notice').where('id', '=', part.noticeId).execute();
      continue;
    }
    const notice = await tx.db.selectFrom('notice').selectAll().where('id', '=', part.noticeId).executeTakeFirst();
    if (!notice) continue;
    const before = JSON.parse(notice.told_ids) as string[];
    const isNews = notice.told > 0 && part.decisionIds.some((id) => !before.includes(id));
    const openedAt = isNews ? tx.now : notice.opened_at;
    await tx.db
      .updateTable('notice')
      .set({
        told: notice.told + 1,
        told_ids: JSON.stringify(part.decisionIds),
        opened_at: openedAt,
        last_sent_at: tx.now,
        next_at: nextReminderAt(openedAt, tx.now),
      })
      .where('id', '=', notice.id)
      .execute();
  }
}

/** The receiver answers: what asked about its channel goes away. */
export async function recordReached(tx: Tx, target: string): Promise<void> {
  const before = await tx.db
    .selectFrom('notify_target')
    .select('failures')
    .where('target', '=', target)
    .executeTakeFirst();
  await tx.db
    .updateTable('notify_target')
    .set({ failures: 0, retry_at: null, last_error: null, last_ok_at: tx.now })
    .where('target', '=', target)
    .execute();
  if (Number(before?.failures ?? 0) < failuresUntilAsked) return;
  await tx.emit({ kind: 'notify.recovered', actor, subject: { kind: 'channel', id: target } });
  const others = await tx.db
    .selectFrom('notify_target')
    .select('target')
    .where('failures', '>=', failuresUntilAsked)
    .execute();
  if (others.some((other) => channelOf(other.target) === channelOf(target))) return;
  await voidDecisions(tx, { kind: 'dead_letter', dedupeKey: channelKey(target) }, 'reached again');
}

/** The receiver was not reached: again after 1, 2, 4, … s up to 15 min, without end; at the eighth time a human is asked. */
export async function recordFailure(tx: Tx, target: string, fault: ChannelFault): Promise<void> {
  const row = await tx.db.selectFrom('notify_target').selectAll().where('target', '=', target).executeTakeFirst();
  if (!row) return;
  // To be told to wait is an answer, not a failure.
  const failures = fault.retryAfterMs === undefined ? Number(row.failures) + 1 : Number(row.failures);
  const waitMs =
    fault.retryAfterMs ??
    (failures < 7 ? backOffMs(failures) : Math.min(longestBackOffMs, 60_000 * 2 ** Math.min(4, failures - 7)));
  await tx.db
    .updateTable('notify_target')
    .set({ failures, retry_at: tx.now + waitMs, last_error: fault.message, last_error_at: tx.now })
    .where('target', '=', target)
    .execute();
  if (failures !== failuresUntilAsked || fault.retryAfterMs !== undefined) return;
  await tx.emit({
    kind: 'notify.failing',
    actor,
    subject: { kind: 'channel', id: target },
    facts: { code: fault.code, failures },
  });
  await openDecision(tx, {
    kind: 'dead_letter',
    subject: { kind: 'channel', id: channelOf(target) },
    dedupeKey: channelKey(target),
    title: `Messages by ${channelOf(target)} do not arrive: ${fault.message}`,
    detail: { channel: channelOf(target), target, failures, error: fault.message },
    actor,
  });
}

/** A human looked into it: it is tried at once. */
export async function retryChannel(tx: Tx, channel: string): Promise<void> {
  const rows = await tx.db.selectFrom('notify_target').select('target').execute();
  for (const { target } of rows)
    if (channelOf(target) === channel)
      await tx.db
        .updateTable('notify_target')
        .set({ failures: 0, retry_at: null })
        .where('target', '=', target)
        .execute();
  tx.wake(notifyTopic);
}

/** Woken when channels or owners changed. */
export const notifyTopic = 'notify';

const channelKey = (target: string): string => `dead_letter:channel:${channelOf(target)}`;
