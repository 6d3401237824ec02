import { systemActor } from '../kernel/index.ts';
import {
  type EffectExecutor,
  type Reconciler,
  startEffects,
  startHousekeeping,
  startReconciler,
} from '../store/index.ts';
import { expiryIntervalMs, runExpiryOnce } from '../gate/index.ts';
import { createBroker, type SessionContext, startSupervisor, type Supervisor } from '../sessions/index.ts';
import { agentSideUseCases } from './agent-side/use-cases.ts';
import type { App } from './app.ts';
import { lookAfterTurn } from './author/look-after-turn.ts';
import { startDailyBackup } from './backup/daily-backup.ts';
import { settleRestore } from './backup/settle-restore.ts';
import type { AppContext } from './context.ts';
import { releaseCallEffect } from './decisions/settle-decision.ts';
import { decisionUseCases } from './decisions/use-cases.ts';
import { startClaimRenewal } from './dispatch/renew-claims.ts';
import { startDispatcher } from './dispatch/dispatch-tasks.ts';
import { gateUseCases } from './gate/use-cases.ts';
import { openHalt } from './instance/halt.ts';
import { phaseOf } from './instance/phase-of.ts';
import { prepareDown } from './instance/prepare-down.ts';
import { startRetention } from './instance/retention.ts';
import { sessionSettings } from './instance/session-settings.ts';
import { instanceUseCases } from './instance/use-cases.ts';
import { afterLandingEffect, followLanding } from './landing/after-landing.ts';
import { startBaseWatch } from './landing/watch-bases.ts';
import { releaseHeldCall } from './launch/judge-permission.ts';
import { peersUseCases } from './peers/use-cases.ts';
import { restoreDoors } from './launch/restore-doors.ts';
import { createSessionPorts, turnEndedEffect } from './launch/session-ports.ts';
import { openCredentials } from './notify/credentials.ts';
import { createNotifying, type Notifying } from './notify/start-notifying.ts';
import { notifyUseCases } from './notify/use-cases.ts';
import { repositoryUseCases } from './repositories/use-cases.ts';
import { startReviewCycle } from './review/advance-pull-request.ts';
import { reviewUseCases } from './review/use-cases.ts';
import { sessionUseCases } from './sessions/use-cases.ts';
import { createStopEverything } from './sessions/stop-everything.ts';
import { startWatchSweep } from './watched/start-watch-sweep.ts';
import { watchedUseCases } from './watched/use-cases.ts';
import { createSpending } from './spending/create-spending.ts';
import { startBudgets } from './spending/keep-budgets.ts';
import { workUseCases } from './work/use-cases.ts';

/** What the composition root hands over; the rest of the context is made here. */
export type AppParts = Omit<AppContext, 'sessions' | 'broker' | 'halt' | 'credentials' | 'spending'> & {
  /** Token of the Telegram bot from the environment; goes before the file. */
  telegramToken?: string | undefined;
};

/** The use cases and the services behind them. */
export interface RunningApp {
  app: App;
  context: AppContext;
  /** Starts everything that goes on by itself: supervision first, so that living agents are adopted before anything is dispatched. */
  start(): Promise<void>;
  /** Stops it in the other direction; agents go on. Safe twice. */
  stop(): Promise<void>;
}

/** Builds `app` over an open store: contexts, use cases, services. Nothing runs before `start`. */
export async function createApp({ telegramToken, ...parts }: AppParts): Promise<RunningApp> {
  const { store } = parts;
  let context: AppContext | undefined;
  const ctx = (): AppContext => {
    if (!context) throw new Error('the app is not built yet');
    return context;
  };
  const sessions: SessionContext = {
    store,
    ports: createSessionPorts(ctx),
    settings: () => sessionSettings(parts.config),
    nodeId: parts.nodeId,
  };
  context = {
    ...parts,
    sessions,
    broker: createBroker(store, systemActor('supervisor')),
    halt: await openHalt(store),
    credentials: openCredentials(parts.paths, telegramToken),
    spending: createSpending(parts),
  };
  const notifying = createNotifying(context, () => app);
  const services = createServices(context, notifying);
  const app: App = {
    work: workUseCases(context),
    sessions: sessionUseCases(context, createStopEverything(context, services.supervisor), services.supervisor),
    decisions: decisionUseCases(context),
    gate: gateUseCases(context),
    review: reviewUseCases(context),
    repositories: repositoryUseCases(context),
    instance: instanceUseCases(context, prepareDown(context, services.supervisor)),
    notify: notifyUseCases(context),
    agentSide: agentSideUseCases(context),
    watched: watchedUseCases(context),
    peers: peersUseCases(context),
  };
  return { app, context, start: services.start, stop: services.stop };
}

interface Services {
  start(): Promise<void>;
  stop(): Promise<void>;
  supervisor(): Supervisor;
}

/** The services in the order in which they start. */
function createServices(ctx: AppContext, notifying: Notifying): Services {
  let supervisor: Supervisor | undefined;
  let effects: EffectExecutor | undefined;
  const loops: Reconciler[] = [];
  const ends: (() => void)[] = [];

  return {
    async start() {
      await ctx.barrier.wall?.start();
      await settleRestore(ctx);
      await restoreDoors(ctx);
      supervisor = await startSupervisor(ctx.sessions, {
        sessionsFolder: ctx.paths.sessions,
        broker: ctx.broker,
        onFault: (error, sessionId) => ctx.log.error({ err: error, session: sessionId }, 'supervision'),
      });
      ends.push(startClaimRenewal(ctx));
      effects = startEffects(ctx.store, effectHandlers(ctx), {
        mayTry: () => !ctx.halt.isOn(),
        onError: (error) => ctx.log.error({ err: error }, 'effects'),
      });
      const housekeeping = startHousekeeping(ctx.store, {
        onError: (error) => ctx.log.error({ err: error }, 'housekeeping'),
      });
      ends.push(() => void housekeeping.stop());
      loops.push(startDispatcher(ctx), startReviewCycle(ctx), startBaseWatch(ctx), startExpiry(ctx));
      loops.push(startRetention(ctx), startDailyBackup(ctx), startWatchSweep(ctx), startBudgets(ctx));
      notifying.start();
    },
    async stop() {
      for (const end of ends.splice(0)) end();
      await notifying.stop();
      await Promise.all(loops.splice(0).map((loop) => loop.stop()));
      await effects?.stop();
      effects = undefined;
      await supervisor?.stop();
      supervisor = undefined;
      ctx.barrier.wall?.stop();
    },
    supervisor() {
      if (!supervisor) throw new Error('supervision has not started');
      return supervisor;
    },
  };
}

/** Outside effects by kind; each is safe to repeat under its key. */
function effectHandlers(ctx: AppContext): Parameters<typeof startEffects>[1] {
  return {
    [turnEndedEffect]: { run: ({ payload }) => lookAfterTurn(ctx, payload as never), timeoutMs: 120_000 },
    [afterLandingEffect]: { run: ({ payload }) => followLanding(ctx, payload as never), timeoutMs: 300_000 },
    [releaseCallEffect]: { run: ({ payload }) => releaseHeldCall(ctx, payload as never) },
  };
}

/** The hourly pass over grace periods (G-17). */
function startExpiry(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'gate-expiry',
    list: async () => ['capabilities'],
    pass: async () => {
      await ctx.store.tx((tx) => runExpiryOnce(tx, phaseOf(ctx)));
      return { kind: 'look-again', ms: expiryIntervalMs };
    },
    everyMs: expiryIntervalMs,
    onError: (error) => ctx.log.error({ err: error }, 'expiry'),
  });
}
