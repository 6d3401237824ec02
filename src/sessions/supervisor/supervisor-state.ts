import type { LinkPace } from '../drivers/index.ts';
import type { SessionContext } from '../ports.ts';
import type { SessionRow } from '../session-store.ts';
import type { Absences } from './absences.ts';
import type { Attached, AttachedSessions } from './attached.ts';
import type { Deaths } from './deaths.ts';
import type { KeyedLoop } from './keyed-loop.ts';
import type { Look } from './look.ts';
import type { Retries } from './retries.ts';
import { timedColumns, type TimedRow } from './timers.ts';
import type { BrokerWatch } from './watch-broker.ts';

/** What one running supervisor consists of; made and wired in `supervisor.ts`, used by the steps beside it. */
export interface SupervisorState {
  readonly ctx: SessionContext;
  readonly sessionsFolder: string;
  readonly pace: Partial<LinkPace>;
  /** Agents in the hands of this server. */
  readonly sessions: AttachedSessions;
  readonly loop: KeyedLoop;
  readonly deaths: Deaths;
  readonly broker: BrokerWatch;
  readonly retries: Retries;
  readonly absences: Absences;
  /** The quick look at timers, and the slow cycle of S-42. */
  readonly tick: Look;
  readonly cycle: Look;
  readonly onFault: (error: unknown, sessionId?: string) => void;
  /** `stop --all` is under way: nothing is waited for. */
  hurried: boolean;
}

/** The agent of the row's present generation, if this server holds it. */
export function heldGeneration(
  state: SupervisorState,
  row: Pick<SessionRow, 'id' | 'generation'>,
): Attached | undefined {
  const attached = state.sessions.get(row.id);
  return attached?.generation === row.generation ? attached : undefined;
}

/** What the quick look wants to know of a session. */
export type WatchedRow = Pick<SessionRow, 'id' | 'generation'> & TimedRow;

/** As `unfinishedSessions`, with the columns of the quick look only: it runs each second over every session. */
export async function watchedRows(ctx: SessionContext): Promise<WatchedRow[]> {
  return ctx.store.read
    .selectFrom('session')
    .select(['id', 'generation', ...timedColumns])
    .where('wound_up_at', 'is', null)
    .where('node_id', '=', ctx.nodeId)
    .execute();
}

/** Every session of this node that is not wound up. */
export async function unfinishedSessions(ctx: SessionContext): Promise<SessionRow[]> {
  return ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('wound_up_at', 'is', null)
    .where('node_id', '=', ctx.nodeId)
    .execute();
}
