import { newId } from '../../kernel/index.ts';
import type { Schema, Tx } from '../../store/index.ts';
import { type QuietHours, quietForMs } from './quiet-hours.ts';
import { newsAt, withinReach } from './schedule.ts';
import { readAlerts, readHead, readOpenThings, type Thing } from './things-to-tell.ts';

type NoticeRow = Schema['notice'];
export type TargetRow = Schema['notify_target'];

/** A message that was written down and is to be sent. */
export interface Planned {
  key: string;
  target: string;
  parts: PlannedPart[];
  /** Same as in an earlier try of this very message. */
  isRepeated: boolean;
}

/** One notice in a message. */
export interface PlannedPart {
  noticeId: string;
  subject: string;
  decisionIds: string[];
  isReminder: boolean;
  isCritical: boolean;
}

/** Either a message, or how long there is nothing to say. */
export type Plan = { message: Planned } | { waitMs: number };

/** So many things due at once are messages of their own; more are one (no storm after a pause). */
const ownMessages = 3;
/** So many events without an alert may be looked through again. */
const cursorStep = 200;
/** How long to rest when nothing is planned. */
const restMs = 60_000;
/** A wait that lies further ahead than any of ours was written by a clock that ran ahead. */
const longestRetryMs = 3_600_000;

export interface PlanOptions {
  target: string;
  quiet: QuietHours | undefined;
  criticalInQuiet: boolean;
}

/** Reads the whole state, brings the notices of a receiver up to it, and writes down the next message that is due (S-35). */
export async function planMessage(tx: Tx, options: PlanOptions): Promise<Plan> {
  const { target } = options;
  const state = await ensureTarget(tx, target);
  const retryInMs = state.retry_at === null ? 0 : Number(state.retry_at) - tx.now;
  if (retryInMs > 0 && retryInMs <= longestRetryMs) return { waitMs: retryInMs };
  const quietMs = quietForMs(options.quiet, tx.now);
  const mayTell = (isCritical: boolean): boolean => quietMs === undefined || (isCritical && options.criticalInQuiet);
  const begun = await findUnsent(tx, target);
  if (begun && mayTell(begun.parts.some((part) => part.isCritical))) return { message: begun };
  const notices = await bringUpToDate(tx, state);
  const due = notices.filter((notice) => notice.next_at <= tx.now && mayTell(notice.is_critical === 1));
  if (due.length > 0) return { message: await writeDown(tx, target, due.length > ownMessages ? due : due.slice(0, 1)) };
  const waits = notices.map((notice) =>
    Math.max(notice.next_at - tx.now, mayTell(notice.is_critical === 1) ? 0 : (quietMs ?? 0)),
  );
  return { waitMs: Math.max(1, Math.min(restMs, ...waits)) };
}

/** The state of a receiver; a new one hears of what is open, and of alerts from now on. */
export async function ensureTarget(tx: Tx, target: string): Promise<TargetRow> {
  const known = await tx.db.selectFrom('notify_target').selectAll().where('target', '=', target).executeTakeFirst();
  if (known) return known;
  const row: TargetRow = {
    target,
    cursor: await readHead(tx.db),
    failures: 0,
    retry_at: null,
    last_error: null,
    last_error_at: null,
    last_ok_at: null,
  };
  await tx.db.insertInto('notify_target').values(row).execute();
  return row;
}

/** A message that was begun: the process died, or the receiver was not reached. */
async function findUnsent(tx: Tx, target: string): Promise<Planned | undefined> {
  const row = await tx.db
    .selectFrom('notice_message')
    .selectAll()
    .where('target', '=', target)
    .where('state', '=', 'sending')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst();
  return row && { key: row.key, target, parts: JSON.parse(row.notices) as PlannedPart[], isRepeated: true };
}

/** Adds what is new, takes away what is settled, and wakes what has news. Gives the notices, critical ones first, then the oldest. */
async function bringUpToDate(tx: Tx, state: TargetRow): Promise<NoticeRow[]> {
  const { target } = state;
  const known = await tx.db.selectFrom('notice').selectAll().where('target', '=', target).execute();
  const open = await readOpenThings(tx.db, target);
  const alerts = await readAlerts(tx, Number(state.cursor));
  // Not at each event: that would be a write for each.
  if (alerts.things.length > 0 || alerts.cursor - Number(state.cursor) >= cursorStep)
    await tx.db.updateTable('notify_target').set({ cursor: alerts.cursor }).where('target', '=', target).execute();
  const bySubject = new Map(known.map((notice) => [notice.subject, notice]));
  const things = [...open, ...alerts.things];
  const isOpen = new Set(things.map((thing) => thing.subject));
  const gone = known.filter((notice) => !notice.subject.startsWith('alert:') && !isOpen.has(notice.subject));
  for (const notice of gone) await tx.db.deleteFrom('notice').where('id', '=', notice.id).execute();
  const left = known.filter((notice) => !gone.includes(notice));
  for (const notice of left) await correct(tx, notice, things);
  for (const thing of things) if (!bySubject.has(thing.subject)) left.push(await add(tx, target, thing));
  return left.toSorted((a, b) => b.is_critical - a.is_critical || a.opened_at - b.opened_at || (a.id < b.id ? -1 : 1));
}

async function add(tx: Tx, target: string, thing: Thing): Promise<NoticeRow> {
  const row: NoticeRow = {
    id: newId(),
    target,
    subject: thing.subject,
    is_critical: thing.isCritical ? 1 : 0,
    opened_at: Math.min(thing.since, tx.now),
    told: 0,
    told_ids: JSON.stringify(thing.decisionIds),
    next_at: tx.now,
    last_sent_at: null,
  };
  await tx.db
    .insertInto('notice')
    .values({ ...row, told_ids: '[]' })
    .execute();
  return row;
}

/** Plans anew what a jump of the clock put out of reach, or what has news; keeps the open decisions at hand for the message. */
async function correct(tx: Tx, notice: NoticeRow, things: readonly Thing[]): Promise<void> {
  const times = { openedAt: notice.opened_at, nextAt: notice.next_at, lastSentAt: notice.last_sent_at };
  const now = withinReach(times, tx.now);
  const ids = things.find((thing) => thing.subject === notice.subject)?.decisionIds ?? [];
  const told = JSON.parse(notice.told_ids) as string[];
  if (notice.told > 0 && ids.some((id) => !told.includes(id)))
    now.nextAt = newsAt({ ...times, nextAt: now.nextAt }, tx.now);
  if (now.nextAt !== notice.next_at || now.openedAt !== notice.opened_at)
    await tx.db
      .updateTable('notice')
      .set({ next_at: now.nextAt, opened_at: now.openedAt })
      .where('id', '=', notice.id)
      .execute();
  Object.assign(notice, { next_at: now.nextAt, opened_at: now.openedAt, told_ids: JSON.stringify(ids) });
}

async function writeDown(tx: Tx, target: string, due: readonly NoticeRow[]): Promise<Planned> {
  const parts = due.map((notice) => ({
    noticeId: notice.id,
    subject: notice.subject,
    decisionIds: JSON.parse(notice.told_ids) as string[],
    isReminder: notice.told > 0,
    isCritical: notice.is_critical === 1,
  }));
  const first = due[0]!;
  const key = due.length === 1 ? `${first.id}:${first.told + 1}` : `several:${newId()}`;
  await tx.db
    .insertInto('notice_message')
    .values({
      key,
      target,
      notices: JSON.stringify(parts),
      decisions: '[]',
      state: 'sending',
      remote_id: null,
      created_at: tx.now,
      sent_at: null,
    })
    .execute();
  return { key, target, parts, isRepeated: false };
}
