import { type Actor, type Json, ok, refuse, type Refused, type Result } from '../../kernel/index.ts';
import { type Keyed, settleDecision, type Tx } from '../../store/index.ts';
import { storeMessage } from '../broker.ts';
import { escalationsTopic } from '../end-session.ts';
import { openEscalations } from '../escalations.ts';
import { emitOf } from '../events.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import { type CommandResult, commandResult } from '../session.ts';
import type { EscalationRow, SessionRow } from '../session-store.ts';
import { sessionsTopic } from '../transition.ts';
import { type Caller, inContractualOrder, keyedRequest } from './guards.ts';

export interface RespondRequest {
  workKey: unknown;
  text: unknown;
  key: unknown;
  /** Answer only if this question is the oldest open one (the list of decisions answers by id, oldest first). */
  escalationId?: string;
}

/**
 * `respond`: answers the oldest open question of the work key (S-32). Stored as ANSWERED with delivery pending before
 * anything is sent; the session stays ESCALATED until the last answer has arrived (S-33, S-34).
 */
export async function respond(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: RespondRequest,
): Promise<Result<Keyed<CommandResult>>> {
  const keyed = keyedRequest(ctx, caller, 'respond', request.key, { work_key: request.workKey, text: request.text });
  return inContractualOrder(tx, caller, keyed, {
    format() {
      const workKey = fields.workKey(request.workKey, ctx.settings().workKeys);
      if (!workKey.ok) return workKey;
      const text = fields.answerText(request.text);
      return text.ok ? workKey : text;
    },
    missing: noEscalation,
    async apply(session) {
      if (session.state !== 'ESCALATED') return noEscalation(session.work_key);
      const open = await openEscalations(tx, session.id);
      const oldest = open[0];
      if (!oldest) return noEscalation(session.work_key);
      if (request.escalationId !== undefined && oldest.id !== request.escalationId)
        return notOldest(session, request.escalationId, oldest);
      const text = fields.answerText(request.text);
      if (!text.ok) return text;
      await storeAnswer(tx, session, oldest, text.value, caller.actor);
      return ok(commandResult(session, tx.now, { escalation_id: oldest.id, open_escalations: open.length - 1 }));
    },
  });
}

async function storeAnswer(
  tx: Tx,
  session: SessionRow,
  escalation: EscalationRow,
  text: string,
  actor: Actor,
): Promise<void> {
  await tx.db
    .updateTable('escalation')
    .set({ status: 'ANSWERED', answer: text, answered_by: actor.id, answered_at: tx.now, delivery: 'pending' })
    .where('id', '=', escalation.id)
    .where('status', '=', 'OPEN')
    .execute();
  if (escalation.decision_id)
    await settleDecision(tx, escalation.decision_id, {
      outcome: 'answered',
      detail: { escalation_id: escalation.id } satisfies Json,
      actor,
    });
  await storeMessage(tx, session, {
    from: 'operator',
    type: 'PO_RESPONSE',
    payload: { escalation_id: escalation.id, text },
    actor,
  });
  await emitOf(
    tx,
    session,
    'escalation.answered',
    actor,
    { source: escalation.source, waited_ms: tx.now - escalation.created_at },
    { kind: 'escalation', id: escalation.id },
  );
  tx.wake(escalationsTopic, escalation.id);
  tx.wake(sessionsTopic, session.id);
}

/** ERR-04. */
function noEscalation(workKey: string): Refused {
  return refuse('wrong-state', 'no_active_escalation', `Rejected: no active escalation for ${workKey}`, {
    work_key: workKey,
  });
}

function notOldest(session: SessionRow, wanted: string, oldest: EscalationRow): Refused {
  return refuse(
    'wrong-state',
    'not_oldest_escalation',
    `Rejected: ${session.work_key} asked ${oldest.id} first; answer that one before ${wanted}`,
    { work_key: session.work_key, oldest: oldest.id, wanted },
  );
}
