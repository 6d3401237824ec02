import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { fakeAgent, fakeProfile } from '../../../test/agents/agent-world.ts';
import { ok, type Result } from '../../kernel/index.ts';
import { eventsTopic, openSqlite, type Store } from '../../store/index.ts';
import type { AgentProfile } from '../drivers/index.ts';
import { findRunProcesses, runMarker } from '../host/index.ts';
import type { LaunchPlan } from '../ports.ts';
import type { Session } from '../session.ts';
import type { SessionRow } from '../session-store.ts';
import { type SessionWorld, sessionWorld, type WorldOptions } from '../testing.ts';
import { startSupervisor, type Supervisor } from './supervisor.ts';

/** Short times, so that a test waits for a signal and not for a clock. */
const quickPace = {
  pingInTurnMs: 100,
  pingIdleMs: 500,
  unresponsiveAfterMs: 300,
  stalledAfterMs: 400,
  modeReadBackMs: 300,
};

export interface SupervisedOptions extends Omit<WorldOptions, 'planLaunch'> {
  profile?: Partial<AgentProfile>;
  firstPrompt?: string;
  pace?: Partial<typeof quickPace>;
  /** Where store and sessions lie; default a new folder. It is removed with the test. */
  folder?: string;
  /** Default: an embedded store in the folder. Closed with the test. */
  store?: Store;
  /** The wait before a try to reach the broker again. */
  brokerWait?: (ms: number) => Promise<void>;
  /** Overrides what `planLaunch` answers. */
  plan?: (session: Session, plan: LaunchPlan) => Promise<Result<LaunchPlan>>;
}

/** A store, a supervisor and real processes. The agent's codename names the fake agent in `test/agents`. */
export interface SupervisedWorld extends SessionWorld {
  supervisor(): Supervisor;
  sessionsFolder: string;
  faults: unknown[];
  /** Variables that the agents were started with. */
  variables: Record<string, string>[];
  /** Starts a session with this fake agent. */
  start(agent: string, workKey?: string, role?: SessionRow['role']): Promise<string>;
  /** The session, as soon as it is in this state. */
  inState(id: string, state: SessionRow['state']): Promise<SessionRow>;
  /** The session, as soon as it fits. */
  when(id: string, fits: (row: SessionRow) => boolean, what: string): Promise<SessionRow>;
  /** Waits for something in the store; looked at after each event. */
  until<T>(find: () => Promise<T | undefined | false>, what: string, withinMs?: number): Promise<T>;
  /** Lets go of all agents and supervises anew, as a server does that is started again. */
  restart(): Promise<void>;
  /** Pids of the session's present generation. */
  pids(row: SessionRow): number[];
}

export async function supervisedWorld(options: SupervisedOptions = {}): Promise<SupervisedWorld> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'chantier-sup-'));
  const store = options.store ?? (await openSqlite(join(folder, 'chantier.db')));
  const sessionsFolder = join(folder, 'sessions');
  const variables: Record<string, string>[] = [];
  const planLaunch = async (session: Session): Promise<Result<LaunchPlan>> => {
    const plan: LaunchPlan = {
      profile: fakeProfile(options.profile),
      async wrap(given) {
        variables.push({ ...given });
        return fakeAgent(session.agent, { ...given });
      },
      cwd: tmpdir(),
      mcpServers: () => [],
      ...(options.firstPrompt === undefined || session.resumeConversationId !== null
        ? {}
        : { firstPrompt: options.firstPrompt }),
    };
    return options.plan ? options.plan(session, plan) : ok(plan);
  };
  const world = sessionWorld(store, { ...options, planLaunch });
  const faults: unknown[] = [];
  const begin = (): Promise<Supervisor> =>
    startSupervisor(world.ctx, {
      sessionsFolder,
      tickMs: 50,
      pace: { ...quickPace, ...options.pace },
      ...(options.broker ? { broker: options.broker } : {}),
      ...(options.brokerWait ? { brokerWait: options.brokerWait } : {}),
      onFault: (error) => faults.push(error),
    });
  let supervisor = await begin();
  onTestFinished(async () => {
    await supervisor.stopAll({ actor: { kind: 'system', id: 'test' }, reason: 'test_over' });
    await supervisor.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const until = createUntil(store);
  return {
    ...world,
    supervisor: () => supervisor,
    sessionsFolder,
    faults,
    variables,
    async start(agent, workKey = 'PD-1', role = 'author') {
      return (await world.must('start', { workKey, start: { agent, role } })).session_id;
    },
    inState: (id, state) =>
      until(async () => {
        const row = await world.row(id);
        return row.state === state && row;
      }, `${state} of ${id}`),
    when: (id, fits, what) =>
      until(async () => {
        const row = await world.row(id);
        return fits(row) && row;
      }, what),
    until,
    async restart() {
      await supervisor.stop();
      supervisor = await begin();
    },
    pids: (row) => findRunProcesses(runMarker(row.id, row.generation)).map((each) => each.pid),
  };
}

function createUntil(store: Store): SupervisedWorld['until'] {
  return async (find, what, withinMs = 10_000) => {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const off = store.onWake(eventsTopic, () => resolve());
      const timer = setTimeout(resolve, 200);
      try {
        const found = await find();
        if (found !== undefined && found !== false) return found;
        if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms`);
        await promise;
      } finally {
        clearTimeout(timer);
        off();
      }
    }
  };
}
