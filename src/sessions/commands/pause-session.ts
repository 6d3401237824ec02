import { ok, refuse, type Refused, type Result, systemActor } from '../../kernel/index.ts';
import type { Keyed, Tx } from '../../store/index.ts';
import { accountOfSession, reopenAccount } from '../account-limits.ts';
import { storeMessage } from '../broker.ts';
import { applyHeldDone, escalate, openEscalations } from '../escalations.ts';
import { fields } from '../fields.ts';
import { holdTurn } from '../hold-turn.ts';
import type { SessionContext } from '../ports.ts';
import { enqueuePrompt } from '../prompts.ts';
import { relaunch } from '../relaunch.ts';
import { type CommandResult, commandResult } from '../session.ts';
import { findSession, type SessionRow } from '../session-store.ts';
import { transition } from '../transition.ts';
import { type Caller, inContractualOrder, keyedRequest, noSession, wrongState } from './guards.ts';

export interface PauseRequest {
  workKey: unknown;
  reason?: unknown;
  key: unknown;
}

/** `pause`: RUNNING → PAUSED, then the message PAUSE; the open turn is cancelled and prompts are held (S-39, design 7). */
export async function pauseSession(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: PauseRequest,
): Promise<Result<Keyed<CommandResult>>> {
  const keyed = keyedRequest(ctx, caller, 'pause', request.key, { work_key: request.workKey, reason: request.reason });
  return inContractualOrder(tx, caller, keyed, {
    format: () => formatOf(ctx, request),
    missing: noSession,
    async apply(session) {
      if (session.state !== 'RUNNING') return wrongState(session, 'pause', 'RUNNING');
      const paused = await transition(tx, session.id, 'RUNNING', 'PAUSED', { actor: caller.actor, reason: 'operator' });
      if (!paused.ok) return paused;
      await holdTurn(tx, ctx, paused.value);
      await storeMessage(tx, session, {
        from: 'operator',
        type: 'PAUSE',
        payload: { reason: typeof request.reason === 'string' ? request.reason : null },
        actor: caller.actor,
      });
      return ok(commandResult(paused.value, tx.now));
    },
  });
}

/**
 * `resume`: PAUSED → RUNNING, then the message RESUME (S-39). Questions that came meanwhile make it ESCALATED at once
 * (S-38), a completion reported meanwhile is applied (S-44), a generation that was ended on purpose is started anew. A limited
 * session tries its account now.
 */
export async function resumeSession(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: { workKey: unknown; key: unknown },
): Promise<Result<Keyed<CommandResult>>> {
  const keyed = keyedRequest(ctx, caller, 'resume', request.key, { work_key: request.workKey });
  return inContractualOrder(tx, caller, keyed, {
    format: () => fields.workKey(request.workKey, ctx.settings().workKeys),
    missing: noSession,
    async apply(session) {
      if (session.state !== 'PAUSED') return wrongState(session, 'resume', 'PAUSED');
      if (session.taken_over === 1) return humanAtTheWheel(session);
      if (session.reason === 'limited') await reopenAccount(tx, accountOfSession(session), session.id);
      const now = await goOn(tx, ctx, session, { actor: caller.actor, reason: 'operator', key: keyed.key });
      if (!now.ok) return now;
      await storeMessage(tx, session, { from: 'operator', type: 'RESUME', payload: {}, actor: caller.actor });
      return ok(commandResult(now.value, tx.now));
    },
  });
}

/** PAUSED → RUNNING with all that waited for it; gives the session as it then is. */
export async function goOn(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  cause: { actor: Caller['actor']; reason: string; key: string },
): Promise<Result<SessionRow>> {
  const running = await transition(tx, session.id, 'PAUSED', 'RUNNING', cause);
  if (!running.ok) return running;
  await tx.db
    .updateTable('session')
    .set({ turn_cut: 0, taken_over: 0, limited_until: null })
    .where('id', '=', session.id)
    .execute();
  const open = await openEscalations(tx, session.id);
  if (open.length > 0) await escalate(tx, running.value);
  else if (!(await applyHeldDone(tx, ctx, running.value))) await takeUpWork(tx, running.value, cause.key);
  const found = await findSession(tx.db, session.id);
  if (!found) throw new Error(`session ${session.id} vanished`);
  return ok(found);
}

async function takeUpWork(tx: Tx, session: SessionRow, key: string): Promise<void> {
  const isWithoutProcess = session.process === 'ended' || session.process === 'ending';
  // One that is still being ended is started anew by the supervisor as soon as it is gone.
  if (session.process === 'ended') await relaunch(tx, session);
  if (session.turn_cut !== 1 && !isWithoutProcess) return;
  await enqueuePrompt(tx, session, {
    kind: 'notice',
    sourceKey: `resume:${session.generation}:${key}:${tx.now}`,
    text: 'Your work was paused and goes on now. Go on where you stopped.',
    actor: systemActor('supervisor'),
  });
}

/** Only `handback` lets a taken-over session go on: the agent would work beside the human. */
function humanAtTheWheel(session: SessionRow): Refused {
  return refuse(
    'wrong-state',
    'taken_over',
    `Rejected: a human has the wheel of ${session.work_key}; \`chantier handback ${session.work_key}\` lets its agent go on`,
    { work_key: session.work_key, session_id: session.id },
  );
}

function formatOf(ctx: SessionContext, request: PauseRequest): Result<string> {
  const workKey = fields.workKey(request.workKey, ctx.settings().workKeys);
  if (!workKey.ok) return workKey;
  if (request.reason !== undefined && request.reason !== null) {
    const reason = fields.reason(request.reason);
    if (!reason.ok) return reason;
  }
  return workKey;
}
