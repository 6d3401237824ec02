import { type Actor, canonicalJson, type EscalationId, type Json, newShortId, systemActor } from '../kernel/index.ts';
import { openDecision, type Tx, voidDecisions } from '../store/index.ts';
import { endSession, escalationsTopic } from './end-session.ts';
import { emitOf } from './events.ts';
import { pauseForBudget } from './hold-turn.ts';
import type { SessionContext } from './ports.ts';
import { toSession } from './session.ts';
import { type EscalationRow, lockSession, type SessionRow } from './session-store.ts';
import { transition } from './transition.ts';

/** A question as it comes in, validated. */
export interface NewEscalation {
  source: EscalationRow['source'];
  text: string;
  /** Choices or a JSON schema of the wanted answer. */
  form?: Json;
  rpcId?: string;
  askKey?: string;
}

const actor = systemActor('supervisor');

/**
 * Puts a question into the session's queue, opens its decision and moves RUNNING → ESCALATED, all in one transaction
 * (S-31, S-33). In STARTING it counts as first liveness; in PAUSED it only waits (S-38). Asked again under the same request
 * or key, the first one is given back. The session must not have ended.
 */
export async function openEscalation(
  tx: Tx,
  session: SessionRow,
  question: NewEscalation,
): Promise<{ escalation: EscalationRow; isNew: boolean }> {
  const known = await findAsked(tx, session, question);
  if (known) return { escalation: known, isNew: false };
  const id = `esc-${newShortId(10)}` as EscalationId;
  const decisionId = await openDecision(tx, {
    kind: 'escalation_answer',
    subject: { kind: 'escalation', id },
    sessionId: session.id,
    ...(session.project_id ? { projectId: session.project_id } : {}),
    title: question.text.split('\n')[0] ?? '',
    detail: {
      work_key: session.work_key,
      agent: session.agent,
      text: question.text,
      form: question.form ?? null,
      escalation_id: id,
      task_id: session.task_id,
    },
    actor: { kind: 'session', id: session.id, generation: session.generation },
  });
  const escalation = await tx.db
    .insertInto('escalation')
    .values({
      id,
      session_id: session.id,
      work_key: session.work_key,
      generation: session.generation,
      source: question.source,
      rpc_id: question.rpcId ?? null,
      ask_key: question.askKey ?? null,
      text: question.text,
      form: question.form === undefined ? null : canonicalJson(question.form),
      status: 'OPEN',
      answer: null,
      answered_by: null,
      answered_at: null,
      delivery: 'none',
      closure_reason: null,
      decision_id: decisionId,
      created_at: tx.now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await emitOf(
    tx,
    session,
    'escalation.opened',
    { kind: 'session', id: session.id, generation: session.generation },
    { source: question.source, decision_id: decisionId },
    { kind: 'escalation', id },
  );
  await escalate(tx, session);
  return { escalation, isNew: true };
}

/** Moves a session with open questions to ESCALATED, over RUNNING where it was STARTING. */
export async function escalate(tx: Tx, session: SessionRow): Promise<void> {
  let { state } = session;
  if (state === 'STARTING') {
    await transition(tx, session.id, 'STARTING', 'RUNNING', { actor, reason: 'first_liveness_by_question' });
    state = 'RUNNING';
  }
  if (state === 'RUNNING') await transition(tx, session.id, 'RUNNING', 'ESCALATED', { actor, reason: 'question_open' });
}

async function findAsked(tx: Tx, session: SessionRow, question: NewEscalation): Promise<EscalationRow | undefined> {
  const query = tx.db.selectFrom('escalation').selectAll().where('session_id', '=', session.id);
  if (question.rpcId !== undefined)
    return query.where('generation', '=', session.generation).where('rpc_id', '=', question.rpcId).executeTakeFirst();
  if (question.askKey !== undefined) return query.where('ask_key', '=', question.askKey).executeTakeFirst();
  return undefined;
}

/** The open questions of a session, oldest first (S-32). */
export async function openEscalations(tx: Tx, sessionId: string): Promise<EscalationRow[]> {
  return tx.db
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('status', '=', 'OPEN')
    .orderBy('ord')
    .execute();
}

/**
 * Records that the agent has the answer. When it was the last one the session goes back to RUNNING (S-33, S-34), and a
 * completion that was held is applied (S-44). Nothing happens the second time.
 */
export async function markAnswerDelivered(tx: Tx, ctx: SessionContext, escalationId: string): Promise<void> {
  const found = await tx.db
    .selectFrom('escalation')
    .select(['id', 'session_id'])
    .where('id', '=', escalationId)
    .where('delivery', '=', 'pending')
    .executeTakeFirst();
  const session = found && (await lockSession(tx, found.session_id));
  if (!session) return;
  const delivered = await tx.db
    .updateTable('escalation')
    .set({ delivery: 'delivered' })
    .where('id', '=', escalationId)
    .where('delivery', '=', 'pending')
    .returning('id')
    .executeTakeFirst();
  if (!delivered) return;
  await emitOf(tx, session, 'escalation.delivered', actor, {}, { kind: 'escalation', id: escalationId });
  await leaveEscalated(tx, ctx, session, 'all_answered');
}

/**
 * ESCALATED → RUNNING when no question is open and no answer on its way; then a held completion, or the pause of a budget
 * that was used up meanwhile (decision 7).
 */
export async function leaveEscalated(tx: Tx, ctx: SessionContext, session: SessionRow, reason: string): Promise<void> {
  if (session.state !== 'ESCALATED') return;
  const waiting = await tx.db
    .selectFrom('escalation')
    .select('id')
    .where('session_id', '=', session.id)
    .where((eb) => eb.or([eb('status', '=', 'OPEN'), eb('delivery', '=', 'pending')]))
    .executeTakeFirst();
  if (waiting) return;
  const moved = await transition(tx, session.id, 'ESCALATED', 'RUNNING', { actor, reason });
  if (!moved.ok || (await applyHeldDone(tx, ctx, moved.value))) return;
  if (await ctx.ports.isUsedUp(tx, toSession(moved.value))) await pauseForBudget(tx, ctx, moved.value);
}

/** Applies a completion that was reported while the session was ESCALATED or PAUSED (S-44). */
export async function applyHeldDone(tx: Tx, ctx: SessionContext, session: SessionRow): Promise<boolean> {
  if (session.done_held !== 1 || session.state !== 'RUNNING') return false;
  const ended = await endSession(tx, ctx, session, 'DONE', { actor, reason: 'reported_done' });
  return ended.ok;
}

/** Closes one question that nobody waits for any more (the agent took it back, or its turn ended). */
export async function withdrawEscalation(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  id: string,
  reason: string,
  by: Actor = actor,
): Promise<void> {
  const closed = await tx.db
    .updateTable('escalation')
    .set({ status: 'CLOSED', closure_reason: reason, delivery: 'void' })
    .where('id', '=', id)
    .where('status', '=', 'OPEN')
    .returning(['id', 'decision_id'])
    .executeTakeFirst();
  if (!closed) return;
  await voidDecisions(tx, { subjectId: id, kind: 'escalation_answer' }, reason);
  await emitOf(tx, session, 'escalation.closed', by, { reason }, { kind: 'escalation', id });
  tx.wake(escalationsTopic, id);
  await leaveEscalated(tx, ctx, session, reason);
}
