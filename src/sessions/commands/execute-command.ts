import { forLog, ok, refuse, type Refusal, type Result } from '../../kernel/index.ts';
import type { Keyed, Tx } from '../../store/index.ts';
import { type Broker, brokerDownText } from '../broker.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import type { CommandResult } from '../session.ts';
import { type EscalationView, listEscalations, readStatus, type SessionView } from '../status.ts';
import type { Caller } from './guards.ts';
import { pauseSession, resumeSession } from './pause-session.ts';
import { respond } from './respond.ts';
import { startSession, type StartRequest } from './start-session.ts';
import { stopSession } from './stop-session.ts';

/** The seven commands; there is no eighth (S-2, S-14). */
export const commandNames = ['start', 'status', 'escalations', 'respond', 'pause', 'resume', 'stop'] as const;
export type CommandName = (typeof commandNames)[number];

/** Arguments as they came in; every one is validated by its command. */
export interface CommandArguments {
  workKey?: unknown;
  projectCode?: unknown;
  text?: unknown;
  reason?: unknown;
  key?: unknown;
  /** Of `respond`: answer only if this question is the oldest open one. */
  escalationId?: string;
  /** Of `start`: what the dispatcher adds. */
  start?: Omit<StartRequest, 'workKey' | 'projectCode' | 'key'>;
}

export type CommandAnswer =
  /** `notice`: what the caller has to know besides, such as that the broker is away (S-54). */
  | { kind: 'done'; result: Keyed<CommandResult>; notice: string | null }
  | { kind: 'status'; sessions: SessionView[]; broker: string; unknown_peers: string[] }
  | { kind: 'escalations'; escalations: EscalationView[] };

/**
 * The supervisor's command module: the one way in which CLI, console, phone and chat reach the seven (S-14, S-16). A
 * mutating command is one transaction; what it refuses is rolled back and leaves no record but an event `command.rejected`
 * in a transaction of its own (S-22, S-57). It only displays, routes and tracks: no process, network or repository here (S-2).
 */
export async function executeCommand(
  ctx: SessionContext,
  broker: Broker,
  caller: Caller,
  name: string,
  args: CommandArguments,
): Promise<Result<CommandAnswer>> {
  const command = name === 'escalade' ? 'escalations' : name;
  const result = await route(ctx, broker, caller, command, args);
  if (!result.ok) await recordRejection(ctx, caller, command, args.workKey, result.refusal);
  return result;
}

async function route(
  ctx: SessionContext,
  broker: Broker,
  caller: Caller,
  command: string,
  args: CommandArguments,
): Promise<Result<CommandAnswer>> {
  const { workKey, key } = args;
  switch (command) {
    case 'start':
      return mutate(ctx, broker, (tx) =>
        startSession(tx, ctx, caller, { agent: 'default', ...args.start, workKey, projectCode: args.projectCode, key }),
      );
    case 'respond': {
      const { text, escalationId } = args;
      return mutate(ctx, broker, (tx) =>
        respond(tx, ctx, caller, { workKey, text, key, ...(escalationId === undefined ? {} : { escalationId }) }),
      );
    }
    case 'pause':
      return mutate(ctx, broker, (tx) => pauseSession(tx, ctx, caller, { workKey, reason: args.reason, key }));
    case 'resume':
      return mutate(ctx, broker, (tx) => resumeSession(tx, ctx, caller, { workKey, key }));
    case 'stop':
      return mutate(ctx, broker, (tx) => stopSession(tx, ctx, caller, { workKey, reason: args.reason, key }));
    case 'status':
      return consultStatus(ctx, broker, caller, workKey);
    case 'escalations':
      return consultEscalations(ctx, workKey);
    default:
      return refuse('invalid', 'unknown_command', `Unknown command. Available: ${commandNames.join(', ')}`, {
        command: forLog(command, 40),
      });
  }
}

async function mutate(
  ctx: SessionContext,
  broker: Broker,
  fn: (tx: Tx) => Promise<Result<Keyed<CommandResult>>>,
): Promise<Result<CommandAnswer>> {
  const result = await ctx.store.tx(fn);
  if (!result.ok) return result;
  // Its message is stored with it, so the outage delays the command and does not fail it.
  const notice =
    broker.status() === 'UP' ? null : `${brokerDownText}. The command is stored and goes out when the broker is back.`;
  return ok({ kind: 'done', result: result.value, notice });
}

/** Local state and the broker's list of peers together; that the broker was asked is in the log (S-14, S-65). */
async function consultStatus(
  ctx: SessionContext,
  broker: Broker,
  caller: Caller,
  workKey: unknown,
): Promise<Result<CommandAnswer>> {
  const wanted = optionalWorkKey(ctx, workKey);
  if (!wanted.ok) return wanted;
  const peers = await broker.listPeers();
  const sessions = await readStatus(ctx.store.read, wanted.value === undefined ? {} : { workKey: wanted.value });
  const local = new Set(sessions.map((session) => session.peer_id));
  await ctx.store.tx((tx) =>
    tx.emit({
      kind: 'command.accepted',
      actor: caller.actor,
      subject: { kind: 'command', id: 'status' },
      facts: { message_type: 'STATUS', broker: broker.status(), peers: peers.ok ? peers.value.length : null },
    }),
  );
  return ok({
    kind: 'status',
    sessions,
    broker: broker.status(),
    unknown_peers:
      peers.ok && wanted.value === undefined
        ? peers.value.filter((peer) => !local.has(peer.peer_id)).map((peer) => peer.peer_id)
        : [],
  });
}

async function consultEscalations(ctx: SessionContext, workKey: unknown): Promise<Result<CommandAnswer>> {
  const wanted = optionalWorkKey(ctx, workKey);
  if (!wanted.ok) return wanted;
  const escalations = await listEscalations(
    ctx.store.read,
    wanted.value === undefined ? {} : { workKey: wanted.value },
  );
  return ok({ kind: 'escalations', escalations });
}

function optionalWorkKey(ctx: SessionContext, workKey: unknown): Result<string | undefined> {
  return workKey === undefined || workKey === null ? ok(undefined) : fields.workKey(workKey, ctx.settings().workKeys);
}

/** The rejection log, in a transaction of its own because the command's was rolled back (S7.4, S-56, S-57). */
export async function recordRejection(
  ctx: Pick<SessionContext, 'store'>,
  caller: Caller,
  command: string,
  workKey: unknown,
  refusal: Refusal,
): Promise<void> {
  const { active, max, replay_of } = refusal.facts ?? {};
  const amount = typeof active === 'number' && typeof max === 'number' ? ` (${active}/${max})` : '';
  await ctx.store.tx((tx) =>
    tx.emit({
      kind: 'command.rejected',
      actor: caller.actor,
      subject: { kind: 'command', id: forLog(command, 40) },
      facts: {
        peer_id: caller.actor.kind === 'session' ? caller.actor.id : 'operator',
        message_type: forLog(command, 40).toUpperCase(),
        reason: `${refusal.code}${amount}`,
        story_id: workKey === undefined || workKey === null ? null : forLog(workKey),
        ...(replay_of === undefined ? {} : { replay_of }),
      },
    }),
  );
}
