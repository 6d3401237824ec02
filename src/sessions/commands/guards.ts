import { type Actor, type Json, refuse, type Refused, type Result } from '../../kernel/index.ts';
import { type Keyed, type KeyedRequest, lookUpKey, rememberKey, type Tx } from '../../store/index.ts';
import { emitOf } from '../events.ts';
import type { SessionContext } from '../ports.ts';
import type { CommandResult } from '../session.ts';
import { findLastByWorkKey, lockSession, type SessionRow } from '../session-store.ts';

/** Who gives a command; keys of different scopes never meet. */
export interface Caller {
  actor: Actor;
  /** Whose idempotency keys these are. */
  scope: string;
}

/** The request as idempotency sees it: payload over the normalised arguments, whatever was handed in (S-21, S-75). */
export function keyedRequest(
  ctx: SessionContext,
  caller: Caller,
  command: string,
  key: unknown,
  args: Record<string, unknown>,
): KeyedRequest {
  const payload = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, normalise(value)]));
  return {
    scope: caller.scope,
    key: typeof key === 'string' ? key : '',
    command,
    payload,
    ttlMs: ctx.settings().idempotencyTtlMs,
  };
}

function normalise(value: unknown): Json {
  if (value === undefined || value === null) return null;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value);
  return text.toWellFormed().normalize('NFC');
}

/**
 * The order of `stop`, `respond`, `pause`, `resume` (S-18): idempotency, then format, then the session and its state.
 * Rejections leave no record (S-22).
 */
export async function inContractualOrder(
  tx: Tx,
  caller: Caller,
  request: KeyedRequest,
  steps: {
    /** Format of the work key and texts. */
    format: () => Result<string>;
    /** What to say when there is no session of this work key. */
    missing: (workKey: string) => Refused;
    apply: (session: SessionRow) => Promise<Result<CommandResult>>;
  },
): Promise<Result<Keyed<CommandResult>>> {
  const known = await lookUpKey<CommandResult>(tx, request);
  if (known.kind === 'refused') return known.refused;
  if (known.kind === 'replay') {
    await emitReplay(tx, caller, request, known.value);
    return { ok: true, value: { value: known.value, replayed: true } };
  }
  const workKey = steps.format();
  if (!workKey.ok) return workKey;
  const found = await findLastByWorkKey(tx.db, workKey.value);
  const session = found && (await lockSession(tx, found.id));
  if (!session) return steps.missing(workKey.value);
  const result = await steps.apply(session);
  if (!result.ok) return result;
  await acceptCommand(tx, caller, request, session, result.value);
  return { ok: true, value: { value: result.value, replayed: false } };
}

/** Stores the answer under its key and writes the audit entry, in the transaction of the effect (S-23, S-65). */
export async function acceptCommand(
  tx: Tx,
  caller: Caller,
  request: KeyedRequest,
  session: SessionRow,
  result: CommandResult,
): Promise<void> {
  await rememberKey(tx, request, result);
  await emitOf(tx, session, 'command.accepted', caller.actor, {
    message_type: request.command.toUpperCase(),
    key: request.key,
    ...(result.escalation_id ? { escalation_id: result.escalation_id } : {}),
  });
}

/** The audit entry of a replay (ERR-08). */
export async function emitReplay(tx: Tx, caller: Caller, request: KeyedRequest, first: CommandResult): Promise<void> {
  await tx.emit({
    kind: 'command.replayed',
    actor: caller.actor,
    subject: { kind: 'session', id: first.session_id },
    sessionId: first.session_id,
    facts: { key: request.key, message_type: request.command.toUpperCase(), work_key: first.work_key },
  });
}

/** A command that came in the wrong state. */
export function wrongState(session: SessionRow, command: string, needs: string): Refused {
  return refuse(
    'wrong-state',
    'wrong_state',
    `Rejected: ${session.work_key} is ${session.state}; ${command} needs ${needs}`,
    { work_key: session.work_key, session_id: session.id, state: session.state },
  );
}

/** A command for a work key that never had a session. */
export function noSession(workKey: string): Refused {
  return refuse('not-found', 'unknown_work_key', `Rejected: no session for ${workKey}`, { work_key: workKey });
}
