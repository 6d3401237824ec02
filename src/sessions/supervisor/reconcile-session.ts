import { Fault } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import { emitOf } from '../events.ts';
import { generationFolder, openGeneration } from '../host/index.ts';
import { relaunch } from '../relaunch.ts';
import { findSession, lockSession, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import type { Attached } from './attached.ts';
import { failSession, supervisorActor } from './crash.ts';
import { endProcess, mayFinishTurn, windUp } from './end-process.ts';
import { holdAgent } from './hold-agent.ts';
import { launchGeneration } from './launch.ts';
import { readLaunchRecord } from './launch-record.ts';
import { pump } from './pump.ts';
import { heldGeneration, type SupervisorState } from './supervisor-state.ts';
import { applyTimer, type DueTimer, dueTimer } from './timers.ts';

/** Tries of a launch that failed for a passing reason. */
const maxLaunchTries = 5;
/** How often it is looked whether a finished author has ended its turn (ms). */
const finishPollMs = 200;

/**
 * Looks at one session whole and does the next thing that is due: launch, adopt, tend, end, wind up. Level-triggered: what
 * it finds decides, never why it was called (design section 5). One at a time for a session.
 */
export async function reconcileSession(state: SupervisorState, id: string): Promise<void> {
  const { ctx, retries, loop } = state;
  const row = await findSession(ctx.store.read, id);
  if (!row || row.node_id !== ctx.nodeId) return;
  if (retries.isWaiting(id) && !state.hurried) return;
  try {
    await step(state, row);
    retries.succeeded(id);
  } catch (error) {
    loop.pokeLater(id, retries.failed(id) + 10);
    throw error;
  }
}

async function step(state: SupervisorState, row: SessionRow): Promise<void> {
  const attached = heldGeneration(state, row);
  switch (row.process) {
    case 'wanted':
      // While the broker cannot be reached no session begins, so none can fail to start; the recovery looks again (S-53).
      return state.broker.isUp() ? launch(state, row) : undefined;
    case 'launching':
    case 'live':
      return attached ? tend(state, row, attached) : adopt(state, row);
    case 'ending':
      return end(state, row, attached);
    case 'ended':
      if (isTerminal(row.state)) return windUp(state.ctx, row);
      if (row.state === 'RUNNING') return state.ctx.store.tx((tx) => relaunchIfEnded(tx, row.id));
      return lookAtTimers(state, row, attached);
    default:
      return;
  }
}

async function launch(state: SupervisorState, row: SessionRow): Promise<void> {
  const { ctx, sessionsFolder, retries } = state;
  const outcome = await launchGeneration(ctx, sessionsFolder, row);
  const fail = (reason: string) => ctx.store.tx((tx) => failSession(tx, ctx, row.id, row.generation, reason));
  switch (outcome.kind) {
    case 'launched':
      return holdAgent(state, row, outcome.generation, outcome.record);
    case 'failed':
      await fail(outcome.reason);
      return;
    case 'try-again':
      if (retries.count(row.id) + 1 < maxLaunchTries) throw outcome.error;
      state.onFault(outcome.error, row.id);
      await fail('launch_failed');
      return;
    case 'not-wanted':
      return;
  }
}

/** Takes hold of a generation that an earlier server started, or may have started (S-23, S-48). */
async function adopt(state: SupervisorState, row: SessionRow): Promise<void> {
  const { ctx, sessionsFolder } = state;
  const folder = generationFolder(sessionsFolder, row.id, row.generation);
  const generation = await openGeneration(folder, { clock: ctx.store.clock });
  // An older program after a newer one judges nothing of what it does not understand; the agent goes on.
  if (!generation.ok && generation.refusal.code === 'generation_newer')
    throw new Fault(generation.refusal.code, generation.refusal.message);
  // Without its folder nothing was started yet.
  if (!generation.ok && row.process === 'launching') return launch(state, row);
  const record = await readLaunchRecord(sessionsFolder, row.id, row.generation);
  if (!generation.ok || !record) {
    if (generation.ok) await generation.value.close();
    await ctx.store.tx((tx) => failSession(tx, ctx, row.id, row.generation, 'generation_lost'));
    return;
  }
  await holdAgent(state, row, generation.value, record);
  await ctx.store.tx(async (tx) => {
    await tx.db.updateTable('session').set({ missed_polls: 0 }).where('id', '=', row.id).execute();
    await emitOf(tx, row, 'session.adopted', supervisorActor, { pid: row.pid, state: row.state });
  });
}

/** A living, held generation: its timers, then what waits for its agent. */
async function tend(state: SupervisorState, row: SessionRow, attached: Attached): Promise<void> {
  if (attached.exited) return;
  await lookAtTimers(state, row, attached);
  const again = await pump(state.ctx, attached);
  if (again !== undefined) state.loop.pokeLater(row.id, again);
}

/** While the broker cannot be reached nothing is judged by time (S-53). */
async function lookAtTimers(state: SupervisorState, row: SessionRow, attached: Attached | undefined): Promise<void> {
  if (!state.broker.isUp()) return;
  const { ctx, broker, absences } = state;
  const dueOf = (at: SessionRow): DueTimer => {
    const isBehind = attached?.link.isBehind() ?? false;
    return dueTimer(at, ctx.settings(), ctx.store.clock.now(), { isBehind, lostMs: broker.lostMs });
  };
  if (!dueOf(row)) return;
  // It may be due by time in which nobody looked, of which this pass is the first to see: that does not count (field case 67).
  await absences.look();
  const now = await findSession(ctx.store.read, row.id);
  const due = now?.generation === row.generation ? dueOf(now) : undefined;
  if (now && due) await applyTimer(ctx, now, due, attached);
}

async function end(state: SupervisorState, row: SessionRow, attached: Attached | undefined): Promise<void> {
  const { ctx, sessionsFolder, hurried, loop, sessions } = state;
  if (!hurried && mayFinishTurn(ctx, row, attached)) return loop.pokeLater(row.id, finishPollMs);
  const letGo = (): void => void sessions.delete(row.id);
  await endProcess(ctx, row, attached, { sessionsFolder, hurried, letGo });
}

async function relaunchIfEnded(tx: Tx, id: string): Promise<void> {
  const session = await lockSession(tx, id);
  if (session?.process === 'ended' && session.state === 'RUNNING') await relaunch(tx, session);
}
