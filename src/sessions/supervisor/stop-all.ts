import { type Actor, mustOk } from '../../kernel/index.ts';
import { endSession } from '../end-session.ts';
import type { SessionContext } from '../ports.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { activeStates, isTerminal } from '../states.ts';
import type { SupervisorState } from './supervisor-state.ts';

/** What `stop --all` did to one session. */
export interface StoppedSession {
  sessionId: string;
  workKey: string;
  /** All its processes are known to be gone. */
  isGone: boolean;
}

/** How long `stop --all` may take (ms; design section 7). */
const limitMs = 5_000;
const pollMs = 50;

/**
 * Ends every active session of this node as ABORTED, then every process, hurried, also those of sessions that have ended and
 * whose processes are still being stopped; waits at most 5 s and says what is gone.
 */
export async function stopAllSessions(
  state: SupervisorState,
  cause: { actor: Actor; reason: string },
): Promise<StoppedSession[]> {
  const rows = await abortAll(state.ctx, cause);
  const left = await endHurried(state, rows);
  return rows.map((row) => ({ sessionId: row.id, workKey: row.work_key, isGone: !left.has(row.id) }));
}

/** Finishes, hurried, the stops that are under way: no agent of an ended session works on while no server runs. */
export async function finishStops(state: SupervisorState): Promise<void> {
  const { store, nodeId } = state.ctx;
  const ending = await store.read
    .selectFrom('session')
    .selectAll()
    .where('process', '=', 'ending')
    .where('node_id', '=', nodeId)
    .execute();
  await endHurried(state, ending);
}

/** Pokes the sessions until their processes are gone, at most 5 s; gives those that are left. */
async function endHurried(state: SupervisorState, rows: readonly SessionRow[]): Promise<Set<string>> {
  state.hurried = true;
  try {
    for (const { id } of rows) state.loop.poke(id);
    const deadline = performance.now() + limitMs;
    let left = await livingOf(state.ctx, rows);
    while (left.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      left = await livingOf(state.ctx, rows);
    }
    return left;
  } finally {
    state.hurried = false;
  }
}

async function abortAll(ctx: SessionContext, cause: { actor: Actor; reason: string }): Promise<SessionRow[]> {
  const rows = await ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where((eb) => eb.or([eb('state', 'in', activeStates), eb('process', 'not in', ['none', 'ended'])]))
    .where('node_id', '=', ctx.nodeId)
    .execute();
  for (const { id } of rows)
    await ctx.store.tx(async (tx) => {
      const session = await lockSession(tx, id);
      if (session && !isTerminal(session.state)) mustOk(await endSession(tx, ctx, session, 'ABORTED', cause));
    });
  return rows;
}

async function livingOf(ctx: SessionContext, rows: readonly SessionRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const ids = rows.map((row) => row.id);
  const living = await ctx.store.read
    .selectFrom('session')
    .select('id')
    .where('id', 'in', ids)
    .where('process', 'not in', ['none', 'ended'])
    .execute();
  return new Set(living.map((row) => row.id));
}
