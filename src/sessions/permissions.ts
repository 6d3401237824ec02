import { type Actor, canonicalJson, newId, ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import type { PermissionChoice, ToolCallView } from './drivers/index.ts';
import { emitOf } from './events.ts';
import type { PermissionAsk, PermissionJudgement, SessionContext } from './ports.ts';
import { toSession } from './session.ts';
import { lockSession, type PermissionRequestRow, type SessionRow } from './session-store.ts';
import { sessionsTopic } from './transition.ts';

const actor = systemActor('supervisor');

/** Records a permission request of the agent's protocol, once for its request id; it holds until it is settled. */
export async function recordPermission(
  tx: Tx,
  session: SessionRow,
  ask: { rpcId: string; call: ToolCallView; choices: readonly PermissionChoice[] },
): Promise<void> {
  const id = newId();
  const added = await tx.db
    .insertInto('permission_request')
    .values({
      id,
      session_id: session.id,
      generation: session.generation,
      rpc_id: ask.rpcId,
      tool_call: canonicalJson(ask.call),
      choices: canonicalJson(ask.choices),
      state: 'judging',
      decision_id: null,
      reason: null,
      delivery: 'none',
      created_at: tx.now,
      settled_at: null,
    })
    .onConflict((conflict) => conflict.columns(['session_id', 'generation', 'rpc_id']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!added) return;
  await emitOf(tx, session, 'permission.requested', actor, {}, { kind: 'permission', id });
  tx.wake(sessionsTopic, session.id);
}

/** What `judgePermission` is asked about a stored request. */
export function askOf(row: PermissionRequestRow): PermissionAsk {
  return {
    id: row.id,
    generation: row.generation,
    call: JSON.parse(row.tool_call) as ToolCallView,
    choices: JSON.parse(row.choices) as PermissionChoice[],
  };
}

/** Applies what the judge said: settled, or held with its decision and the flag `waiting_approval` (design 7). */
export async function applyJudgement(
  tx: Tx,
  ctx: SessionContext,
  id: string,
  judgement: PermissionJudgement,
): Promise<void> {
  const found = await tx.db.selectFrom('permission_request').selectAll().where('id', '=', id).executeTakeFirst();
  if (!found) return;
  const session = await lockSession(tx, found.session_id);
  if (!session) return;
  if (judgement.kind !== 'hold') {
    await settlePermission(tx, session, id, ['judging'], {
      state: judgement.kind === 'allow' ? 'allowed' : 'rejected',
      reason: judgement.kind === 'reject' ? judgement.reason : null,
      actor,
    });
    return;
  }
  const held = await tx.db
    .updateTable('permission_request')
    .set({ state: 'held', decision_id: judgement.decisionId })
    .where('id', '=', id)
    .where('state', '=', 'judging')
    .returning('id')
    .executeTakeFirst();
  if (held) await refreshWaiting(tx, session);
  else await ctx.ports.onHoldEnded(tx, toSession(session), judgement.decisionId, 'no_longer_asked');
}

/**
 * Settles a held permission request with a human's or the gate's answer, in the transaction of its decision. The agent
 * gets it afterwards, fenced by generation. Refuses with `not-found` or `wrong-state` when it does not hold any more.
 */
export async function answerPermission(
  tx: Tx,
  match: { permissionId: string } | { decisionId: string },
  answer: { allow: boolean; reason?: string; actor: Actor },
): Promise<Result<undefined>> {
  let query = tx.db.selectFrom('permission_request').selectAll();
  query =
    'permissionId' in match
      ? query.where('id', '=', match.permissionId)
      : query.where('decision_id', '=', match.decisionId);
  const found = await query.executeTakeFirst();
  const id = 'permissionId' in match ? match.permissionId : match.decisionId;
  if (!found) return refuse('not-found', 'unknown_permission', `unknown permission request ${id}`, { id });
  const session = await lockSession(tx, found.session_id);
  if (!session) return refuse('not-found', 'unknown_session', `unknown session ${found.session_id}`);
  const settled = await settlePermission(tx, session, found.id, ['judging', 'held'], {
    state: answer.allow ? 'allowed' : 'rejected',
    reason: answer.reason ?? null,
    actor: answer.actor,
  });
  if (settled) return ok();
  return refuse(
    'wrong-state',
    'permission_settled',
    `Permission request ${found.id} does not wait any more (${found.state}).`,
    {
      id: found.id,
      state: found.state,
    },
  );
}

/** Ends every open permission request of a session without an answer, because its turn or the session ended. */
export async function voidPermissions(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  state: 'cancelled' | 'void',
  reason: string,
): Promise<void> {
  const open = await tx.db
    .selectFrom('permission_request')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('state', 'in', ['judging', 'held'])
    .execute();
  for (const request of open) {
    await settlePermission(tx, session, request.id, ['judging', 'held'], { state, reason, actor });
    if (request.decision_id) await ctx.ports.onHoldEnded(tx, toSession(session), request.decision_id, reason);
  }
  if (state !== 'void') return;
  await tx.db
    .updateTable('permission_request')
    .set({ delivery: 'void' })
    .where('session_id', '=', session.id)
    .where('delivery', '=', 'pending')
    .execute();
}

/** Records that the agent has the answer; nothing happens the second time. */
export async function markPermissionDelivered(tx: Tx, session: SessionRow, id: string): Promise<void> {
  const row = await tx.db
    .updateTable('permission_request')
    .set({ delivery: 'delivered' })
    .where('id', '=', id)
    .where('delivery', '=', 'pending')
    .returning('id')
    .executeTakeFirst();
  if (row) await emitOf(tx, session, 'permission.delivered', actor, {}, { kind: 'permission', id });
}

/** The request ended in the agent's own protocol before we had answered: nothing is left to answer. */
export async function settleFromProtocol(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  request: PermissionRequestRow,
  by: 'answer' | 'cancel' | 'agent' | 'end',
): Promise<void> {
  const settled = await settlePermission(tx, session, request.id, ['judging', 'held'], {
    state: by === 'cancel' ? 'cancelled' : 'void',
    reason: `request_${by}`,
    actor,
  });
  if (settled && request.decision_id)
    await ctx.ports.onHoldEnded(tx, toSession(session), request.decision_id, `request_${by}`);
  if (!settled) return;
  await tx.db.updateTable('permission_request').set({ delivery: 'void' }).where('id', '=', request.id).execute();
}

async function settlePermission(
  tx: Tx,
  session: SessionRow,
  id: string,
  from: PermissionRequestRow['state'][],
  to: { state: 'allowed' | 'rejected' | 'cancelled' | 'void'; reason: string | null; actor: Actor },
): Promise<boolean> {
  const settled = await tx.db
    .updateTable('permission_request')
    .set({
      state: to.state,
      reason: to.reason,
      settled_at: tx.now,
      delivery: to.state === 'void' ? 'void' : 'pending',
    })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst();
  if (!settled) return false;
  await emitOf(
    tx,
    session,
    'permission.settled',
    to.actor,
    { outcome: to.state, decision_id: settled.decision_id },
    { kind: 'permission', id },
  );
  await refreshWaiting(tx, session);
  tx.wake(sessionsTopic, session.id);
  return true;
}

/** Keeps the flag `waiting_approval` equal to "a permission request is held". */
async function refreshWaiting(tx: Tx, session: SessionRow): Promise<void> {
  const held = await tx.db
    .selectFrom('permission_request')
    .select('id')
    .where('session_id', '=', session.id)
    .where('state', '=', 'held')
    .executeTakeFirst();
  const flag = held ? 1 : 0;
  const changed = await tx.db
    .updateTable('session')
    .set({ waiting_approval: flag, updated_at: tx.now, last_event_at: tx.now })
    .where('id', '=', session.id)
    .where('waiting_approval', '!=', flag)
    .returning('id')
    .executeTakeFirst();
  if (changed) await emitOf(tx, session, 'session.flagged', actor, { flag: 'waiting_approval', on: flag === 1 });
}
