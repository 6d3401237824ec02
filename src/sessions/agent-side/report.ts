import { canonicalJson, type Json, newId, ok, type Result, systemActor } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import { endSession } from '../end-session.ts';
import { emitOf } from '../events.ts';
import { fields } from '../fields.ts';
import { markLive } from '../mark-live.ts';
import type { SessionContext } from '../ports.ts';
import { type CommandResult, commandResult } from '../session.ts';
import type { SessionRow, TokenHolder } from '../session-store.ts';
import { transition } from '../transition.ts';
import { actorOf, asAgent, lockHolder } from './holder.ts';

/** `report_status` (STATUS_UPDATE): a line of what the agent does; in STARTING it is the first liveness (S-28). */
export async function reportStatus(
  ctx: SessionContext,
  holder: TokenHolder,
  report: { text: unknown },
): Promise<Result<{ recorded: true }>> {
  return asAgent(ctx.store, holder, 'STATUS_UPDATE', async (tx) => {
    const text = fields.summaryText(report.text);
    if (!text.ok) return text;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    await addReport(tx, session.value, 'status', text.value, undefined);
    if (session.value.state === 'STARTING' && session.value.peer_seen_at !== null)
      await markLive(tx, session.value, 'status_update');
    return ok({ recorded: true });
  });
}

/** `report_checkpoint` (GATE_RESULT): a step of the agent's own workflow with its result. */
export async function reportCheckpoint(
  ctx: SessionContext,
  holder: TokenHolder,
  report: { name: unknown; passed: boolean; text?: unknown },
): Promise<Result<{ recorded: true }>> {
  return asAgent(ctx.store, holder, 'GATE_RESULT', async (tx) => {
    const name = fields.reason(report.name);
    if (!name.ok) return name;
    const text = fields.answerText(report.text ?? name.value);
    if (!text.ok) return text;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    await addReport(tx, session.value, 'checkpoint', text.value, { name: name.value, passed: report.passed });
    return ok({ recorded: true });
  });
}

/** `set_summary`: what peers and humans see beside the session. */
export async function setSummary(
  ctx: SessionContext,
  holder: TokenHolder,
  request: { summary: unknown },
): Promise<Result<{ recorded: true }>> {
  return asAgent(ctx.store, holder, 'STATUS_UPDATE', async (tx) => {
    const summary = fields.summaryText(request.summary);
    if (!summary.ok) return summary;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    await tx.db
      .updateTable('session')
      .set({ summary: summary.value, updated_at: tx.now, last_seen_at: tx.now })
      .where('id', '=', session.value.id)
      .execute();
    return ok({ recorded: true });
  });
}

async function addReport(
  tx: Tx,
  session: SessionRow,
  kind: 'status' | 'checkpoint',
  text: string,
  data: { name: string; passed: boolean } | undefined,
): Promise<void> {
  const id = newId();
  await tx.db
    .insertInto('session_report')
    .values({
      id,
      session_id: session.id,
      generation: session.generation,
      kind,
      text,
      data: data === undefined ? null : canonicalJson(data),
      created_at: tx.now,
    })
    .execute();
  await tx.db
    .updateTable('session')
    .set({ last_seen_at: tx.now, updated_at: tx.now })
    .where('id', '=', session.id)
    .execute();
  const facts: Record<string, Json> = { report_id: id };
  if (data) facts.passed = data.passed;
  await emitOf(
    tx,
    session,
    kind === 'status' ? 'session.reported' : 'session.checkpoint',
    actorOf({ sessionId: session.id as TokenHolder['sessionId'], generation: session.generation }),
    facts,
  );
}

/**
 * WORKFLOW_DONE, for `report_done` and `submit_review` as `app` composes them: RUNNING → DONE; while ESCALATED or PAUSED
 * it is held and applied on return to RUNNING (S-44). `done: false` in the answer says that it is held.
 */
export async function markDone(
  tx: Tx,
  ctx: SessionContext,
  holder: TokenHolder,
): Promise<Result<CommandResult & { done: boolean }>> {
  const found = await lockHolder(tx, holder);
  if (!found.ok) return found;
  let session = found.value;
  const actor = actorOf(holder);
  if (session.state === 'STARTING') {
    const running = await transition(tx, session.id, 'STARTING', 'RUNNING', {
      actor: systemActor('supervisor'),
      reason: 'first_liveness_by_report',
    });
    if (!running.ok) return running;
    session = running.value;
  }
  if (session.state === 'RUNNING') {
    const ended = await endSession(tx, ctx, session, 'DONE', { actor, reason: 'reported_done' });
    return ended.ok ? ok({ ...commandResult(ended.value, tx.now), done: true }) : ended;
  }
  if (session.done_held === 0) {
    await tx.db.updateTable('session').set({ done_held: 1, updated_at: tx.now }).where('id', '=', session.id).execute();
    await emitOf(tx, session, 'session.done-held', actor, { state: session.state });
  }
  return ok({ ...commandResult(session, tx.now), done: false });
}
