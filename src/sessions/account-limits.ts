import { type Tx, voidDecisions } from '../store/index.ts';
import type { DriverEvent } from './drivers/index.ts';
import { type Db, findSession, type SessionRow } from './session-store.ts';
import { isTerminal } from './states.ts';
import { sessionsTopic } from './transition.ts';

/** A limit of a provider as a driver told it. */
export type ProviderLimit = Extract<DriverEvent, { kind: 'limit' }>;

/** How long a limit without a time of its own is taken to last; doubled with each strike, up to `longestAssumedMs`. */
const assumedMs = { usage: 15 * 60_000, rate: 60_000 } as const;
const longestAssumedMs = 60 * 60_000;
/** No plan's window is longer than a week; a time beyond it was misread. */
const longestMs = 8 * 86_400_000;
/** How long one session tries an account alone before the others take it for open again. */
const probeMs = 2 * 60_000;
/** How often the others look whether the one that tries has got through. */
const lookAgainMs = 5_000;

/** Whether an account may be used now: free, to be tried by one session alone, or not before `until` (null: a human is needed). */
export type AccountState =
  | { kind: 'free' }
  | { kind: 'probe' }
  | { kind: 'limited'; until: number | null; reason: ProviderLimit['reason'] };

/** The account of a session's agent; one that was never launched by this version stands for its agent alone. */
export function accountOfSession(session: Pick<SessionRow, 'account' | 'agent'>): string {
  return session.account ?? `agent:${session.agent}`;
}

/**
 * Opens the breaker of an account, or keeps it open longer; gives until when (null: until a human has settled it). Sessions
 * that are told the same at the same time count as one strike. Stored, so that a restart forgets no strike.
 */
export async function limitAccount(tx: Tx, account: string, limit: ProviderLimit): Promise<number | null> {
  const known = await accountRow(tx.db, account);
  const isSameTime = known !== undefined && (known.limited_until === null || known.limited_until > tx.now);
  const strikes = known === undefined ? 1 : known.strikes + (isSameTime ? 0 : 1);
  const given = untilOf(tx.now, limit, strikes);
  const before = isSameTime ? known.limited_until : given;
  const until = before === null || given === null ? null : Math.max(before, given);
  // The later end is the one that is waited for, so its reason is the one that is shown.
  const isKept = isSameTime && (known.limited_until === null || (given !== null && known.limited_until >= given));
  const values = {
    reason: isKept ? known.reason : limit.reason,
    limited_until: until,
    strikes,
    probe_session_id: null,
    probe_since: null,
    updated_at: tx.now,
  };
  await tx.db
    .insertInto('account_limit')
    .values({ account, ...values })
    .onConflict((conflict) => conflict.column('account').doUpdateSet(values))
    .execute();
  return until;
}

/** Whether `account` may be used at `now`. After its time one session tries it alone, so that no crowd runs into the limit again. */
export async function readAccount(db: Db, account: string, now: number): Promise<AccountState> {
  const row = await accountRow(db, account);
  if (!row) return { kind: 'free' };
  if (row.limited_until === null || row.limited_until > now)
    return { kind: 'limited', until: row.limited_until, reason: row.reason };
  if (row.probe_session_id === null || row.probe_since === null) return { kind: 'probe' };
  const probing = await findSession(db, row.probe_session_id);
  if (!probing || isTerminal(probing.state) || probing.state === 'PAUSED') return { kind: 'probe' };
  if (row.probe_since + probeMs <= now) return { kind: 'free' };
  return { kind: 'limited', until: now + lookAgainMs, reason: row.reason };
}

/** Accounts that take nothing more now, by name. */
export async function readLimitedAccounts(
  db: Db,
  now: number,
): Promise<{ account: string; reason: ProviderLimit['reason']; until: number | null }[]> {
  return db
    .selectFrom('account_limit')
    .select(['account', 'reason', 'limited_until as until'])
    .where((eb) => eb.or([eb('limited_until', 'is', null), eb('limited_until', '>', now)]))
    .orderBy('account')
    .execute();
}

/** Notes that this session is the one that tries the account. */
export async function probeAccount(tx: Tx, account: string, sessionId: string): Promise<void> {
  await tx.db
    .updateTable('account_limit')
    .set({ probe_session_id: sessionId, probe_since: tx.now, updated_at: tx.now })
    .where('account', '=', account)
    .execute();
}

/**
 * Whether a PAUSED session may go on as far as its provider is concerned; on an account that must be tried first it is the one
 * that tries. Else it waits from now on as one that the limit itself had paused, whatever paused it: it goes on by itself.
 */
export async function mayUseAccount(tx: Tx, session: SessionRow): Promise<boolean> {
  const account = accountOfSession(session);
  const state = await readAccount(tx.db, account, tx.now);
  if (state.kind === 'probe') await probeAccount(tx, account, session.id);
  if (state.kind !== 'limited') return true;
  const hasProcess = session.process === 'live' || session.process === 'launching';
  await tx.db
    .updateTable('session')
    .set({
      reason: 'limited',
      limited_until: state.until,
      account,
      ...(hasProcess ? { process: 'ending' } : {}),
      updated_at: tx.now,
    })
    .where('id', '=', session.id)
    .execute();
  tx.wake(sessionsTopic, session.id);
  return false;
}

/** Closes the breaker after it was seen that the provider takes work again; nothing happens while its time is not over. */
export async function freeAccount(tx: Tx, account: string): Promise<void> {
  const closed = await tx.db
    .deleteFrom('account_limit')
    .where('account', '=', account)
    .where('limited_until', '<=', tx.now)
    .returning('account')
    .executeTakeFirst();
  if (closed) await wakeWaiting(tx, account);
}

/**
 * A human says that the account may be used again, by this session first where one is named: what waited for it goes on as
 * after its time, one of them first.
 */
export async function reopenAccount(tx: Tx, account: string, sessionId?: string): Promise<void> {
  const reopened = await tx.db
    .updateTable('account_limit')
    .set({
      limited_until: tx.now,
      probe_session_id: sessionId ?? null,
      probe_since: sessionId === undefined ? null : tx.now,
      updated_at: tx.now,
    })
    .where('account', '=', account)
    .returning('account')
    .executeTakeFirst();
  if (reopened) await wakeWaiting(tx, account);
}

async function wakeWaiting(tx: Tx, account: string): Promise<void> {
  await voidDecisions(tx, { subjectId: account, kind: 'provider_limit' }, 'resumed');
  const waiting = await tx.db
    .updateTable('session')
    .set({ limited_until: tx.now, updated_at: tx.now })
    .where('state', '=', 'PAUSED')
    .where('reason', '=', 'limited')
    .where('account', '=', account)
    .returning('id')
    .execute();
  for (const { id } of waiting) tx.wake(sessionsTopic, id);
}

function untilOf(now: number, limit: ProviderLimit, strikes: number): number | null {
  // Whole milliseconds: agents tell fractions of seconds too, and no column holds one.
  if (limit.untilMs !== undefined) return Math.min(Math.max(Math.ceil(limit.untilMs), now + 1000), now + longestMs);
  if (limit.reason !== 'usage' && limit.reason !== 'rate') return null;
  return now + Math.min(longestAssumedMs, assumedMs[limit.reason] * 2 ** Math.min(strikes - 1, 10));
}

async function accountRow(db: Db, account: string) {
  return db.selectFrom('account_limit').selectAll().where('account', '=', account).executeTakeFirst();
}
