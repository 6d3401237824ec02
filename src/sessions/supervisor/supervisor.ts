import type { Actor } from '../../kernel/index.ts';
import type { TerminalControl } from '../drivers/index.ts';
import { purgeExpiredKeys } from '../../store/index.ts';
import { createBroker } from '../broker.ts';
import type { SessionContext, SupervisorOptions } from '../ports.ts';
import { sessionsTopic } from '../transition.ts';
import { createAbsences } from './absences.ts';
import type { AttachedSessions } from './attached.ts';
import { supervisorActor } from './crash.ts';
import { createDeaths } from './deaths.ts';
import { createKeyedLoop } from './keyed-loop.ts';
import { createLook } from './look.ts';
import { reportGaps, standingGaps } from './reconcile-peers.ts';
import { reconcileSession } from './reconcile-session.ts';
import { createRetries } from './retries.ts';
import { finishStops, stopAllSessions, type StoppedSession } from './stop-all.ts';
import { heldGeneration, type SupervisorState, unfinishedSessions, watchedRows } from './supervisor-state.ts';
import { dueTimer } from './timers.ts';
import { watchBroker } from './watch-broker.ts';

/** How often timers are looked at (ms). */
const defaultTickMs = 1_000;

/** The supervisor of this node's sessions; a service, `stop` safe twice. */
export interface Supervisor {
  /**
   * Lets go of every agent and leaves it alone (decision 2): it goes on, and the next server adopts it. Stops that are under
   * way are finished first (at most 5 s).
   */
  stop(): Promise<void>;
  /** Ends every session of this node as ABORTED and every process within 5 s; says what it ended. */
  stopAll(cause: { actor: Actor; reason: string }): Promise<StoppedSession[]>;
  /** Sessions whose agents this server holds now. */
  attachedSessions(): { sessionId: string; generation: number }[];
  /** The terminal of a session's program; `undefined` where it has none or this server does not hold it. */
  terminalOf(sessionId: string): { generation: number; control: TerminalControl } | undefined;
}

/**
 * Starts supervision: adopts what lives (S-48), launches what is wanted, and from then on reconciles each session when it is
 * woken and when a timer is due. Resolves when every living generation was taken hold of.
 */
export async function startSupervisor(ctx: SessionContext, options: SupervisorOptions): Promise<Supervisor> {
  const state = createState(ctx, options);
  await ctx.store.tx((tx) => purgeExpiredKeys(tx));
  await state.absences.begin();
  await adoptLiving(state);
  // Only now: a wake-up during adoption would take hold of the same agent twice. What was missed is looked at below.
  const offWake = ctx.store.onWake(sessionsTopic, (id) => (id === '' ? inBackground(pokeAll) : state.loop.poke(id)));
  await pokeAll(state);
  const timers = [
    setInterval(() => inBackground(state.tick.begin), options.tickMs ?? defaultTickMs).unref(),
    setInterval(() => inBackground(state.cycle.begin), ctx.settings().cycleMs).unref(),
  ];
  let stopped = false;

  function inBackground(work: (state: SupervisorState) => Promise<void>): void {
    work(state).catch((error: unknown) => {
      state.onFault(error);
      // A look that failed may mean that nobody can be seen: that is found out now, not at the next cycle (S-51).
      void state.broker.check().catch(state.onFault);
    });
  }

  return {
    async stop() {
      if (stopped) return;
      stopped = true;
      offWake();
      for (const timer of timers) clearInterval(timer);
      await finishStops(state).catch((error: unknown) => state.onFault(error));
      state.deaths.stop();
      state.broker.stop();
      await state.absences.note();
      await state.loop.stop();
      await Promise.all([...state.sessions.values()].map(({ link }) => link.detach()));
      state.sessions.clear();
    },
    stopAll: (cause) => stopAllSessions(state, cause),
    terminalOf(sessionId) {
      const attached = state.sessions.get(sessionId);
      const control = attached?.link.terminal;
      return attached && control ? { generation: attached.generation, control } : undefined;
    },
    attachedSessions: () =>
      [...state.sessions.values()].map(({ sessionId, generation }) => ({ sessionId, generation })),
  };
}

function createState(ctx: SessionContext, options: SupervisorOptions): SupervisorState {
  const { sessionsFolder, pace = {} } = options;
  const sessions: AttachedSessions = new Map();
  const onFault = (error: unknown, sessionId?: string): void => options.onFault?.(error, sessionId);
  const loop = createKeyedLoop((id) => reconcileSession(state, id), onFault);
  const deaths = createDeaths(ctx, sessionsFolder, sessions, {
    onFault,
    poke: loop.poke,
    mayJudge: () => state.broker.isUp(),
  });
  const broker = watchBroker(ctx.store, options.broker ?? createBroker(ctx.store, supervisorActor), {
    actor: supervisorActor,
    onRecovered() {
      deaths.resume();
      state.cycle.beginAnew().catch((error: unknown) => onFault(error));
    },
    onFault,
    ...(options.brokerWait ? { wait: options.brokerWait } : {}),
  });
  const retries = createRetries();
  const state: SupervisorState = {
    ctx,
    sessionsFolder,
    pace,
    sessions,
    loop,
    deaths,
    broker,
    retries,
    absences: createAbsences(ctx, { sessionsFolder, tickMs: options.tickMs ?? defaultTickMs }),
    tick: createLook(() => tick(state)),
    cycle: createLook(() => cycle(state)),
    onFault,
    hurried: false,
  };
  return state;
}

async function adoptLiving(state: SupervisorState): Promise<void> {
  const rows = await unfinishedSessions(state.ctx);
  const living = rows.filter((row) => row.process === 'live');
  await Promise.all(
    living.map((row) => reconcileSession(state, row.id).catch((error: unknown) => state.onFault(error, row.id))),
  );
}

/** The quick look: rows that are not settled or have a timer due; most need nothing, which costs no query of their own. */
async function tick(state: SupervisorState): Promise<void> {
  await state.absences.look();
  if (!state.broker.isUp()) return;
  const now = state.ctx.store.clock.now();
  for (const row of await watchedRows(state.ctx)) {
    const isSettled = row.process === 'live' && heldGeneration(state, row) !== undefined;
    if (!isSettled || dueTimer(row, state.ctx.settings(), now, { lostMs: state.broker.lostMs }))
      state.loop.poke(row.id);
  }
}

/** The slow cycle (S-42): broker, differences, expired keys; then every session once, whatever was missed. */
async function cycle(state: SupervisorState): Promise<void> {
  const { ctx, broker, sessions } = state;
  await state.absences.note();
  await broker.check();
  if (!broker.isUp()) return;
  await reportGaps(ctx.store, await standingGaps(() => unfinishedSessions(ctx), sessions));
  await ctx.store.tx((tx) => purgeExpiredKeys(tx));
  await pokeAll(state);
  await freeJournals(state);
}

/** Frees what is old in the journals of living agents, one after the other (decision 2). */
async function freeJournals(state: SupervisorState): Promise<void> {
  const keepBytes = state.ctx.settings().journalKeepBytes;
  for (const row of await unfinishedSessions(state.ctx)) {
    const attached = heldGeneration(state, row);
    if (!attached || attached.exited) continue;
    const isSpent = (line: Buffer): boolean => attached.link.isSpent(line);
    await attached.freer.free({ consumedTo: row.journal_offset, keepBytes, isSpent });
  }
}

async function pokeAll(state: SupervisorState): Promise<void> {
  for (const row of await unfinishedSessions(state.ctx)) state.loop.poke(row.id);
}
