import type { DecisionRequestRow, Tx } from '../../store/index.ts';
import type { Db } from '../dispatch/db.ts';
import { channelOf } from './channel.ts';

/** Something that a human has to hear of: the open questions of one session are one thing (S-35). */
export interface Thing {
  subject: string;
  isCritical: boolean;
  /** Open decisions, oldest first; none for an alert. */
  decisionIds: string[];
  since: number;
}

/** More open decisions than these are told of when older ones are settled. */
const maxOpen = 2000;

/** Everything open now, but for what says that this very channel fails. */
export async function readOpenThings(db: Db, target: string): Promise<Thing[]> {
  const rows = await db
    .selectFrom('decision_request')
    .select(['id', 'kind', 'session_id', 'subject_kind', 'subject_id', 'created_at'])
    .where('state', '=', 'open')
    .orderBy('created_at')
    .orderBy('id')
    .limit(maxOpen)
    .execute();
  const things = new Map<string, Thing>();
  for (const row of rows) {
    if (row.subject_kind === 'channel' && row.subject_id === channelOf(target)) continue;
    const subject = subjectOf(row);
    const known = things.get(subject);
    if (known) known.decisionIds.push(row.id);
    else things.set(subject, { subject, isCritical: false, decisionIds: [row.id], since: row.created_at });
  }
  return [...things.values()];
}

function subjectOf(row: Pick<DecisionRequestRow, 'id' | 'kind' | 'session_id'>): string {
  return row.kind === 'escalation_answer' && row.session_id !== null
    ? `questions:${row.session_id}`
    : `decision:${row.id}`;
}

/** Kinds of events among which the alerts are. */
const alertKinds = [
  'session.moved',
  'session.flagged',
  'session.alert',
  'broker.degraded',
  'broker.recovered',
  'reconciliation.gap',
] as const;

/** Most events that one look reads; what is left comes with the next. */
const maxEvents = 500;

/** Alerts after `cursor`, and how far the log was looked through: each event is an alert once, whatever died meanwhile. */
export async function readAlerts(tx: Tx, cursor: number): Promise<{ things: Thing[]; cursor: number }> {
  const head = await readHead(tx.db);
  if (head <= cursor) return { things: [], cursor };
  const rows = await tx.db
    .selectFrom('event')
    .select(['seq', 'id', 'kind', 'facts', 'at'])
    .where('seq', '>', cursor)
    .where('seq', '<=', head)
    .where('kind', 'in', [...alertKinds])
    .orderBy('seq')
    .limit(maxEvents)
    .execute();
  const things = rows.flatMap((row) => {
    const isCritical = alertOf(row.kind, JSON.parse(row.facts) as Facts);
    return isCritical === undefined
      ? []
      : [{ subject: `alert:${row.id}`, isCritical, decisionIds: [], since: Number(row.at) }];
  });
  return { things, cursor: rows.length < maxEvents ? head : Number(rows.at(-1)?.seq ?? head) };
}

/** The newest readable `seq`; 0 when there is none. */
export async function readHead(db: Db): Promise<number> {
  const row = await db
    .selectFrom('event')
    .select((eb) => eb.fn.max('seq').as('head'))
    .executeTakeFirst();
  return Number(row?.head ?? 0);
}

/** Facts of an event. */
export type Facts = Record<string, string | number | boolean | null | undefined>;

/** Whether an event is an alert, and a critical one (S-52, ERR-06, ERR-07); `undefined`: none. */
function alertOf(kind: string, facts: Facts): boolean | undefined {
  switch (kind) {
    case 'session.moved':
      return facts.to === 'CRASHED' || facts.to === 'START_FAILED' ? true : undefined;
    case 'session.flagged':
      // A limit without an end is a decision of its own.
      return facts.flag === 'limited' && facts.on === true && typeof facts.until === 'number' ? false : undefined;
    case 'session.alert':
    case 'broker.degraded':
      return true;
    default:
      return false;
  }
}
