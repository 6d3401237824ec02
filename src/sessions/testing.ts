import { type Actor, mustOk, ok, type Result, type SessionId } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { type Broker, brokerDown, createBroker } from './broker.ts';
import { type CommandArguments, executeCommand } from './commands/execute-command.ts';
import type { Caller } from './commands/guards.ts';
import { markAnswerDelivered, openEscalation } from './escalations.ts';
import { markLive } from './mark-live.ts';
import {
  defaultSessionSettings,
  type LaunchPlan,
  type PermissionJudgement,
  type SessionContext,
  type SessionEnd,
  type SessionPorts,
  type SessionSettings,
} from './ports.ts';
import type { CommandResult, Session } from './session.ts';
import { findSession, lockSession, type SessionRow, type TokenHolder } from './session-store.ts';

export const operator: Actor = { kind: 'operator', id: 'op', channel: 'terminal' };
export const caller: Caller = { actor: operator, scope: 'operator' };

/** What the ports were told, in order. */
export interface PortCalls {
  ended: { session: Session; how: SessionEnd }[];
  afterEnded: Session[];
  turnsEnded: string[];
  holdsEnded: string[];
}

/** The world of one test: commands and questions over a store, with ports that answer what the test says. */
export interface SessionWorld {
  store: Store;
  ctx: SessionContext;
  broker: Broker;
  calls: PortCalls;
  settings: SessionSettings;
  /** Any of the seven, as the operator; `key` defaults to a new one. */
  run(name: string, args?: CommandArguments): ReturnType<typeof executeCommand>;
  /** As `run`; must succeed. */
  must(name: string, args?: CommandArguments): Promise<CommandResult>;
  /** A session that is RUNNING as if its agent had been seen, without a process. */
  running(workKey?: string, role?: SessionRow['role']): Promise<TokenHolder>;
  row(id: string): Promise<SessionRow>;
  ask(holder: TokenHolder, text: string): Promise<string>;
  /** The agent fetches what was answered. */
  deliver(escalationId: string): Promise<void>;
  /** Kinds of all events with their facts, in order. */
  events(kind?: string): Promise<{ kind: string; facts: Record<string, unknown> }[]>;
}

export interface WorldOptions {
  /** Default: the one over the store. */
  broker?: Broker;
  settings?: Partial<SessionSettings>;
  planLaunch?: (session: Session) => Promise<Result<LaunchPlan>>;
  judge?: (session: Session) => PermissionJudgement | Promise<PermissionJudgement>;
  budgets?: Partial<BudgetPorts>;
}

type BudgetPorts = Pick<SessionPorts, 'reserveTurn' | 'onUsage' | 'usedSoFar' | 'onPlanWindow' | 'isUsedUp'>;

/** Ports of a world in which every turn may begin. */
export const withoutBudgets: BudgetPorts = {
  reserveTurn: async () => 'go',
  onUsage: async () => ({ isUsedUp: false }),
  usedSoFar: async () => null,
  async onPlanWindow() {},
  isUsedUp: async () => false,
};

export function sessionWorld(store: Store, options: WorldOptions = {}): SessionWorld {
  const calls: PortCalls = { ended: [], afterEnded: [], turnsEnded: [], holdsEnded: [] };
  const settings: SessionSettings = { ...defaultSessionSettings, ...options.settings };
  const ports: SessionPorts = {
    knowsProject: async (_tx, code) => code === 'backend',
    planLaunch: options.planLaunch ?? (() => Promise.reject(new Error('nothing is launched in this test'))),
    judgePermission: async (session) => options.judge?.(session) ?? { kind: 'allow' },
    async onEnded(_tx, session, how) {
      calls.ended.push({ session, how });
    },
    async onHoldEnded(_tx, _session, decisionId) {
      calls.holdsEnded.push(decisionId);
    },
    async onTurnEnded(_tx, _session, stopReason) {
      calls.turnsEnded.push(stopReason);
    },
    ...withoutBudgets,
    ...options.budgets,
    async afterEnded(session) {
      calls.afterEnded.push(session);
    },
  };
  const ctx: SessionContext = { store, ports, settings: () => settings, nodeId: 'local' };
  const broker = options.broker ?? createBroker(store, operator);
  let keys = 0;
  const run: SessionWorld['run'] = (name, args = {}) =>
    executeCommand(ctx, broker, caller, name, {
      key: `k-${(keys += 1)}`,
      ...(name === 'start' ? { projectCode: 'backend', start: { agent: 'turing' } } : {}),
      ...args,
    });
  const must: SessionWorld['must'] = async (name, args) => {
    const answer = mustOk(await run(name, args));
    if (answer.kind !== 'done') throw new Error(`${name} changes nothing`);
    return answer.result.value;
  };
  return {
    store,
    ctx,
    broker,
    calls,
    settings,
    run,
    must,
    async running(workKey = 'PD-1', role = 'author') {
      const started = await must('start', { workKey, start: { agent: 'turing', role } });
      await store.tx(async (tx) => {
        await tx.db
          .updateTable('session')
          .set({ process: 'live', peer_seen_at: tx.now, endpoint_id: `s-${started.session_id.slice(-10)}` })
          .where('id', '=', started.session_id)
          .execute();
        const session = await lockSession(tx, started.session_id);
        if (session) await markLive(tx, session, 'opened');
      });
      return {
        sessionId: started.session_id as SessionId,
        generation: 1,
        role,
        workKey,
        taskId: null,
      };
    },
    async row(id) {
      const row = await findSession(store.read, id);
      if (!row) throw new Error(`no session ${id}`);
      return row;
    },
    async ask(holder, text) {
      const asked = await store.tx(async (tx) => {
        const session = await lockSession(tx, holder.sessionId);
        if (!session) throw new Error('no session');
        return ok((await openEscalation(tx, session, { source: 'ask_human', text })).escalation.id);
      });
      return mustOk(asked);
    },
    async deliver(escalationId) {
      await store.tx((tx) => markAnswerDelivered(tx, ctx, escalationId));
    },
    async events(kind) {
      await store.settled();
      let query = store.read.selectFrom('event').select(['kind', 'facts']).orderBy('seq');
      if (kind !== undefined) query = query.where('kind', '=', kind);
      const rows = await query.execute();
      return rows.map((row) => ({ kind: row.kind, facts: JSON.parse(row.facts) as Record<string, unknown> }));
    },
  };
}

/** The broker's interface over the store with a switch (S-49: replaceable by a mock). */
export function switchedBroker(store: Store): Broker & { isUp: boolean } {
  const real = createBroker(store, operator);
  const away = brokerDown(new Error('switched off'));
  const broker: Broker & { isUp: boolean } = {
    isUp: true,
    listPeers: async () => (broker.isUp ? real.listPeers() : away),
    sendMessage: async (...message) => (broker.isUp ? real.sendMessage(...message) : away),
    getMessages: async (peerId) => (broker.isUp ? real.getMessages(peerId) : away),
    ackMessages: async (peerId, ids) => (broker.isUp ? real.ackMessages(peerId, ids) : away),
    status: () => (broker.isUp ? 'UP' : 'DEGRADED'),
    reconnect: async () => (broker.isUp ? 'OK' : 'STILL_DEGRADED'),
  };
  return broker;
}
