import { type Actor, isRefused } from '../../kernel/index.ts';
import { purgeExpiredKeys } from '../../store/index.ts';
import { createBroker } from '../broker.ts';
import { type AgentLink, driverFor, type DriverSink } from '../drivers/index.ts';
import { endSession } from '../end-session.ts';
import { emitOf } from '../events.ts';
import { type Generation, generationFolder, openGeneration } from '../host/index.ts';
import type { SessionContext, SupervisorOptions } from '../ports.ts';
import { findSession, lockSession, type SessionRow } from '../session-store.ts';
import { activeStates, isTerminal } from '../states.ts';
import { sessionsTopic } from '../transition.ts';
import { relaunch } from '../relaunch.ts';
import { applyBatch, isChatter } from './apply-events.ts';
import { applyFlag } from './apply-liveness.ts';
import type { Attached, AttachedSessions } from './attached.ts';
import { failSession, supervisorActor } from './crash.ts';
import { createDeaths } from './deaths.ts';
import { endProcess, mayFinishTurn, windUp } from './end-process.ts';
import { createKeyedLoop } from './keyed-loop.ts';
import { launchGeneration } from './launch.ts';
import { type LaunchRecord, readLaunchRecord } from './launch-record.ts';
import { pump } from './pump.ts';
import { findGaps, reportGaps } from './reconcile-peers.ts';
import { applyTimer, dueTimer } from './timers.ts';
import { watchBroker } from './watch-broker.ts';

/** What `stop --all` did to one session. */
export interface StoppedSession {
  sessionId: string;
  workKey: string;
  /** All its processes are known to be gone. */
  isGone: boolean;
}

/** The supervisor of this node's sessions; a service, `stop` safe twice. */
export interface Supervisor {
  /** Lets go of every agent and leaves it alone (decision 2): it goes on, and the next server adopts it. */
  stop(): Promise<void>;
  /** Ends every session of this node as ABORTED and every process within 5 s; says what it ended. */
  stopAll(cause: { actor: Actor; reason: string }): Promise<StoppedSession[]>;
  /** Sessions whose agents this server holds now. */
  attachedSessions(): { sessionId: string; generation: number }[];
}

/** Batches of mere chatter are written at most this often (ms). */
const chatterMs = 1_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;
/** Tries of a launch that failed for a passing reason. */
const maxLaunchTries = 5;

/**
 * Starts supervision: adopts what lives (S-48), launches what is wanted, and from then on reconciles each session when it is
 * woken and when a timer is due. Resolves when every living generation was taken hold of.
 */
export async function startSupervisor(ctx: SessionContext, options: SupervisorOptions): Promise<Supervisor> {
  const { sessionsFolder, tickMs = 500, pace } = options;
  const { store } = ctx;
  const sessions: AttachedSessions = new Map();
  const tries = new Map<string, { count: number; notBefore: number }>();
  const onFault = (error: unknown, sessionId?: string): void => options.onFault?.(error, sessionId);
  let hurried = false;
  let stopped = false;

  const loop = createKeyedLoop(reconcile, onFault);
  const broker = watchBroker(store, createBroker(store, supervisorActor), {
    actor: supervisorActor,
    onRecovered: () => void cycle().catch((error: unknown) => onFault(error)),
    onFault,
  });
  const deaths = createDeaths(ctx, sessionsFolder, sessions, { onFault, poke: loop.poke });

  async function reconcile(id: string): Promise<void> {
    const row = await findSession(store.read, id);
    if (!row || row.node_id !== ctx.nodeId || isBackingOff(id)) return;
    try {
      await step(row);
      tries.delete(id);
    } catch (error) {
      backOff(id);
      throw error;
    }
  }

  async function step(row: SessionRow): Promise<void> {
    const attached = heldGeneration(row);
    switch (row.process) {
      case 'wanted':
        return launch(row);
      case 'launching':
        return attached ? tend(row, attached) : adopt(row);
      case 'live':
        return attached ? tend(row, attached) : adopt(row);
      case 'ending':
        if (!hurried && mayFinishTurn(ctx, row, attached)) return loop.pokeLater(row.id, 200);
        await endProcess(ctx, row, attached, { sessionsFolder, hurried });
        sessions.delete(row.id);
        return;
      case 'ended':
        if (isTerminal(row.state)) return windUp(ctx, row);
        if (row.state === 'RUNNING') return store.tx((tx) => relaunchIfEnded(tx, row.id));
        return timers(row, attached);
      default:
        return;
    }
  }

  async function launch(row: SessionRow): Promise<void> {
    const outcome = await launchGeneration(ctx, sessionsFolder, row);
    switch (outcome.kind) {
      case 'launched':
        return attach(row, outcome.generation, outcome.record);
      case 'failed':
        await store.tx((tx) => failSession(tx, ctx, row.id, row.generation, outcome.reason));
        return;
      case 'try-again':
        if ((tries.get(row.id)?.count ?? 0) + 1 >= maxLaunchTries) {
          await store.tx((tx) => failSession(tx, ctx, row.id, row.generation, 'launch_failed'));
          return;
        }
        throw outcome.error;
      case 'not-wanted':
        return;
    }
  }

  /** Takes hold of a generation that an earlier server started, or may have started (S-48). */
  async function adopt(row: SessionRow): Promise<void> {
    const generation = await openGeneration(generationFolder(sessionsFolder, row.id, row.generation), {
      clock: store.clock,
    });
    if (!generation.ok) {
      // Without its folder nothing was started; a generation that had lived has lost its files.
      if (row.process === 'launching') return launch(row);
      await store.tx((tx) => failSession(tx, ctx, row.id, row.generation, 'generation_lost'));
      return;
    }
    const record = await readLaunchRecord(sessionsFolder, row.id, row.generation);
    if (!record) {
      await generation.value.close();
      await store.tx((tx) => failSession(tx, ctx, row.id, row.generation, 'generation_lost'));
      return;
    }
    await attach(row, generation.value, record);
    await store.tx(async (tx) => {
      await tx.db.updateTable('session').set({ missed_polls: 0 }).where('id', '=', row.id).execute();
      await emitOf(tx, row, 'session.adopted', supervisorActor, { pid: row.pid, state: row.state });
    });
  }

  async function attach(row: SessionRow, generation: Generation, record: LaunchRecord): Promise<void> {
    const held = Promise.withResolvers<Attached>();
    // Nobody waits for it unless the link has news before it is held.
    held.promise.catch(() => undefined);
    const { unresponsiveAfterMs, stalledAfterMs } = ctx.settings();
    let link: AgentLink;
    try {
      link = await driverFor(record.profile).attach(
        generation,
        {
          profile: record.profile,
          cwd: record.cwd,
          mcpServers: record.mcpServers,
          ...(record.conversationId === null ? {} : { resume: { conversationId: record.conversationId } }),
          consumedTo: row.journal_offset,
          clock: store.clock,
          pace: { unresponsiveAfterMs: unresponsiveAfterMs - 500, stalledAfterMs, ...pace },
        },
        sinkOf(row, generation, held.promise),
      );
    } catch (error) {
      held.reject(error);
      await generation.close();
      throw error;
    }
    const attached: Attached = {
      sessionId: row.id,
      generation: row.generation,
      profile: record.profile,
      link,
    };
    sessions.set(row.id, attached);
    held.resolve(attached);
    await store.tx((tx) =>
      tx.db
        .updateTable('session')
        .set({ process: 'live' })
        .where('id', '=', row.id)
        .where('generation', '=', row.generation)
        .where('process', '=', 'launching')
        .execute(),
    );
    loop.poke(row.id);
  }

  function sinkOf(row: SessionRow, generation: Generation, held: Promise<Attached>): DriverSink {
    const at = { sessionId: row.id, generation: row.generation };
    let writtenAt = Number.NEGATIVE_INFINITY;
    return {
      async apply(batch) {
        const now = performance.now();
        if (isChatter(batch) && now - writtenAt < chatterMs) return;
        await applyBatch(ctx, at, batch, generation.record());
        writtenAt = now;
      },
      async liveness(event) {
        if (event.kind !== 'exited') return applyFlag(ctx, at, event);
        const attached = await held;
        attached.exited = event;
        deaths.note(attached);
      },
      fault: (error) => onFault(error, row.id),
    };
  }

  /** A living, held generation: its timers, then what waits for its agent. */
  async function tend(row: SessionRow, attached: Attached): Promise<void> {
    if (attached.exited) return;
    await timers(row, attached);
    const again = await pump(ctx, attached);
    if (again !== undefined) loop.pokeLater(row.id, again);
  }

  async function timers(row: SessionRow, attached: Attached | undefined): Promise<void> {
    const due = broker.isUp() ? dueTimer(row, ctx.settings(), store.clock.now()) : undefined;
    if (due) await applyTimer(ctx, row, due, attached);
  }

  function heldGeneration(row: SessionRow): Attached | undefined {
    const attached = sessions.get(row.id);
    return attached?.generation === row.generation ? attached : undefined;
  }

  function isBackingOff(id: string): boolean {
    return !hurried && (tries.get(id)?.notBefore ?? 0) > performance.now();
  }

  function backOff(id: string): void {
    const count = (tries.get(id)?.count ?? 0) + 1;
    const ms = Math.min(longestRetryMs, firstRetryMs * 2 ** (count - 1));
    tries.set(id, { count, notBefore: performance.now() + ms });
    loop.pokeLater(id, ms + 10);
  }

  /** Rows that are not wound up are looked at each tick; most need nothing, which costs no query of their own. */
  async function tick(): Promise<void> {
    if (!broker.isUp()) return;
    const rows = await unfinishedRows();
    const now = store.clock.now();
    for (const row of rows) {
      const isSettled = row.process === 'live' && heldGeneration(row) !== undefined;
      if (!isSettled || dueTimer(row, ctx.settings(), now)) loop.poke(row.id);
    }
  }

  /** The slow cycle (S-42): broker, differences, expired keys; then every session once, whatever was missed. */
  async function cycle(): Promise<void> {
    await broker.check();
    if (!broker.isUp()) return;
    await reportGaps(store, findGaps(await unfinishedRows(), sessions));
    await store.tx((tx) => purgeExpiredKeys(tx));
    await lookAtAll();
  }

  async function lookAtAll(): Promise<void> {
    for (const row of await unfinishedRows()) loop.poke(row.id);
  }

  async function unfinishedRows(): Promise<SessionRow[]> {
    return store.read
      .selectFrom('session')
      .selectAll()
      .where('wound_up_at', 'is', null)
      .where('node_id', '=', ctx.nodeId)
      .execute();
  }

  await store.tx((tx) => purgeExpiredKeys(tx));
  const atStart = await unfinishedRows();
  await Promise.all(
    atStart
      .filter((row) => row.process === 'live')
      .map((row) => reconcile(row.id).catch((error: unknown) => onFault(error, row.id))),
  );
  // Only now: a wake-up during adoption would take hold of the same agent twice. What was missed is looked at below.
  const offWake = store.onWake(sessionsTopic, (id) => (id === '' ? void lookAtAll() : loop.poke(id)));
  for (const row of atStart) loop.poke(row.id);
  const ticking = setInterval(() => void tick().catch((error: unknown) => onFault(error)), tickMs).unref();
  const cycling = setInterval(
    () => void cycle().catch((error: unknown) => onFault(error)),
    ctx.settings().cycleMs,
  ).unref();

  return {
    async stop() {
      if (stopped) return;
      stopped = true;
      offWake();
      clearInterval(ticking);
      clearInterval(cycling);
      deaths.stop();
      broker.stop();
      await loop.stop();
      await Promise.all([...sessions.values()].map(({ link }) => link.detach()));
      sessions.clear();
    },
    async stopAll(cause) {
      hurried = true;
      const active = await abortAll(ctx, cause);
      for (const { id } of active) loop.poke(id);
      const deadline = performance.now() + 5_000;
      let left = await livingOf(active);
      while (left.size > 0 && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        left = await livingOf(active);
      }
      hurried = false;
      return active.map((row) => ({ sessionId: row.id, workKey: row.work_key, isGone: !left.has(row.id) }));
    },
    attachedSessions: () => [...sessions.values()].map(({ sessionId, generation }) => ({ sessionId, generation })),
  };

  async function livingOf(rows: readonly SessionRow[]): Promise<Set<string>> {
    if (rows.length === 0) return new Set();
    const living = await store.read
      .selectFrom('session')
      .select('id')
      .where(
        'id',
        'in',
        rows.map((row) => row.id),
      )
      .where('process', 'not in', ['none', 'ended'])
      .execute();
    return new Set(living.map((row) => row.id));
  }
}

async function relaunchIfEnded(tx: Parameters<typeof lockSession>[0], id: string): Promise<void> {
  const session = await lockSession(tx, id);
  if (session?.process === 'ended' && session.state === 'RUNNING') await relaunch(tx, session);
}

async function abortAll(ctx: SessionContext, cause: { actor: Actor; reason: string }): Promise<SessionRow[]> {
  const active = await ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('state', 'in', activeStates)
    .where('node_id', '=', ctx.nodeId)
    .execute();
  for (const row of active)
    await ctx.store.tx(async (tx) => {
      const session = await lockSession(tx, row.id);
      if (!session || isTerminal(session.state)) return;
      const ended = await endSession(tx, ctx, session, 'ABORTED', cause);
      if (isRefused(ended)) throw new Error(ended.refusal.message);
    });
  return active;
}
