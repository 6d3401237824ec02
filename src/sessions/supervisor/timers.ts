import { voidPermissions } from '../permissions.ts';
import type { SessionContext, SessionSettings } from '../ports.ts';
import { enqueuePrompt } from '../prompts.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { setFlag } from './apply-liveness.ts';
import type { Attached } from './attached.ts';
import { failSession, supervisorActor } from './crash.ts';
import { endLimit } from './limits.ts';

/** What time has brought about for a session; the timers are times in its row, so they outlive the server (S-48). */
export type DueTimer =
  | 'start_timeout'
  | 'first_liveness_timeout'
  | 'hung'
  | 'stall_told'
  | 'stalled'
  | 'limit_over'
  | undefined;

/** The columns that `dueTimer` reads. */
export const timedColumns = [
  'process',
  'state',
  'reason',
  'taken_over',
  'turn_open',
  'launched_at',
  'peer_seen_at',
  'live_at',
  'limited_until',
  'unresponsive_since',
  'stalled_since',
  'stall_told',
] as const;

/** A session as far as its timers are concerned. */
export type TimedRow = Pick<SessionRow, (typeof timedColumns)[number]>;

/** While an agent's words wait to be read (a loaded machine, a restart), time judges it so many times later. */
const patienceWhileBehind = 2;

/**
 * Pure: which timer of the row is due at `now`. `isBehind`: something that the agent said is not applied yet, and may be the
 * very sign of life that the timer misses; it is waited for, but not for ever. `lostMs`: how much of the time since then
 * could not be judged (S-53).
 */
export function dueTimer(
  row: TimedRow,
  settings: SessionSettings,
  now: number,
  { isBehind = false, lostMs = () => 0 }: { isBehind?: boolean; lostMs?: (since: number) => number } = {},
): DueTimer {
  const isOver = (since: number, limitMs: number): boolean =>
    now - since - lostMs(since) >= limitMs * (isBehind ? patienceWhileBehind : 1);
  if (row.taken_over === 1) return undefined;
  if (row.state === 'PAUSED' && row.reason === 'limited' && row.limited_until !== null && row.limited_until <= now)
    return row.process === 'ended' ? 'limit_over' : undefined;
  if (row.process !== 'live' && row.process !== 'launching') return undefined;
  if (row.live_at === null) {
    if (row.launched_at === null) return undefined;
    if (row.peer_seen_at === null)
      return isOver(row.launched_at, settings.startDetectionTimeoutMs) ? 'start_timeout' : undefined;
    return isOver(row.peer_seen_at, settings.firstLivenessTimeoutMs) ? 'first_liveness_timeout' : undefined;
  }
  const { unresponsive_since: silent, stalled_since: stalled } = row;
  if (row.turn_open === 1 && silent !== null && isOver(silent, settings.hungTimeoutMs)) return 'hung';
  if (row.turn_open === 1 && stalled !== null && isOver(stalled, settings.stallTimeoutMs))
    return row.stall_told === 0 ? 'stall_told' : 'stalled';
  return undefined;
}

/** Acts on a due timer; gives whether anything changed. */
export async function applyTimer(
  ctx: SessionContext,
  row: SessionRow,
  due: Exclude<DueTimer, undefined>,
  attached: Attached | undefined,
): Promise<void> {
  if (due === 'limit_over') return endLimit(ctx, row);
  if (due === 'stall_told') return tellStalled(ctx, row, attached);
  await ctx.store.tx((tx) => failSession(tx, ctx, row.id, row.generation, due));
}

/** STALLED for 30 min: the turn is cancelled and the agent told once; the second time the session ends (design 7). */
async function tellStalled(ctx: SessionContext, row: SessionRow, attached: Attached | undefined): Promise<void> {
  const isTold = await ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, row.id);
    if (!session || session.stall_told === 1 || session.generation !== row.generation) return false;
    await setFlag(tx, session, 'stalled', null);
    await tx.db.updateTable('session').set({ stall_told: 1 }).where('id', '=', session.id).execute();
    await voidPermissions(tx, ctx, session, 'cancelled', 'stalled');
    await enqueuePrompt(tx, session, {
      kind: 'notice',
      sourceKey: `stalled:${session.generation}`,
      text: 'Nothing was heard of you for a long time, so your turn was cancelled. Go on with your work; if a command hangs, run it with a time limit.',
      actor: supervisorActor,
    });
    return true;
  });
  if (isTold) await attached?.link.cancelTurn();
}
