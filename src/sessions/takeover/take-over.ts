import { type Actor, newId, ok, refuse, type Refused, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import { wrongState } from '../commands/guards.ts';
import { closeEscalations } from '../end-session.ts';
import { emitOf } from '../events.ts';
import { voidPermissions } from '../permissions.ts';
import type { SessionContext } from '../ports.ts';
import { enqueuePrompt } from '../prompts.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import { sessionsTopic, transition } from '../transition.ts';
import { openTakeover, type TakeoverRow } from './takeover-store.ts';

const reason = 'taken_over';

/**
 * `takeover` (design 7 "Humans at the wheel"): the generation is ended on purpose and fenced at once, the session is PAUSED
 * with the flag `taken_over`, and nothing but `handback` or `stop` moves it. Open questions are closed with that reason;
 * answers that were on their way go into the queue as texts, so none is lost. Its slot stays taken, as that of any paused
 * session (S-19). Refuses `already_taken_over`, `not_an_author`, `handed_in`, `wrong_state`.
 */
export async function takeOver(
  tx: Tx,
  ctx: SessionContext,
  actor: Actor,
  request: { sessionId: string; by: string },
): Promise<Result<TakeoverRow>> {
  const session = await lockSession(tx, request.sessionId);
  if (!session) return refuse('not-found', 'unknown_session', `There is no session ${request.sessionId}.`);
  const refused = await whyNot(tx, session);
  if (refused) return refused;
  const paused = await pauseForHuman(tx, session, actor);
  if (!paused.ok) return paused;
  await voidPermissions(tx, ctx, session, 'void', reason);
  const isThere = session.process === 'live' || session.process === 'launching' || session.process === 'ending';
  await tx.db
    .updateTable('session')
    .set({
      process: isThere ? 'ending' : 'ended',
      token_hash: null,
      reason,
      taken_over: 1,
      turn_cut: 0,
      waiting_approval: 0,
      unresponsive: 0,
      unresponsive_since: null,
      stalled: 0,
      stalled_since: null,
      updated_at: tx.now,
    })
    .where('id', '=', session.id)
    .execute();
  const row = await tx.db
    .insertInto('takeover')
    .values({
      id: newId<string>(),
      session_id: session.id,
      generation: session.generation,
      taken_by: request.by,
      taken_at: tx.now,
      start_commit: null,
      terminals: 0,
      ended_at: null,
      ended_by: null,
      outcome: null,
      end_commit: null,
      note: null,
      resumed_generation: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await emitOf(tx, session, 'session.flagged', actor, { flag: reason, on: true });
  tx.wake(sessionsTopic, session.id);
  return ok(row);
}

async function whyNot(tx: Tx, session: SessionRow): Promise<Refused | undefined> {
  const { work_key: key } = session;
  const open = await openTakeover(tx.db, session.id);
  if (open)
    return refuse(
      'duplicate',
      'already_taken_over',
      `${open.taken_by} has the wheel of ${key} since ${toRfc3339(open.taken_at)}. \`chantier takeover ${key} --again\` opens a terminal in it once theirs is closed; \`chantier handback ${key}\` gives it back.`,
      { session_id: session.id, by: open.taken_by, since: toRfc3339(open.taken_at) },
    );
  if (session.role !== 'author')
    return refuse(
      'wrong-state',
      'not_an_author',
      `${key} is a ${session.role}; only an author can be taken over. Judge the change yourself instead: \`chantier human\`.`,
      { session_id: session.id },
    );
  if (isTerminal(session.state) || session.state === 'STARTING')
    return wrongState(session, 'takeover', 'RUNNING, ESCALATED or PAUSED');
  if (session.done_held === 1)
    return refuse(
      'wrong-state',
      'handed_in',
      `${key} has handed its work in and ends when its questions are answered or it is resumed; take the change over in review.`,
      { session_id: session.id },
    );
  return undefined;
}

/** ESCALATED has no way to PAUSED: its questions are closed first, with the reason (design 7). */
async function pauseForHuman(tx: Tx, session: SessionRow, actor: Actor): Promise<Result<unknown>> {
  await keepAnswers(tx, session, actor);
  await closeEscalations(tx, session, reason, actor);
  if (session.state === 'PAUSED') return ok();
  if (session.state === 'ESCALATED') {
    const running = await transition(tx, session.id, 'ESCALATED', 'RUNNING', { actor, reason });
    if (!running.ok) return running;
  }
  return transition(tx, session.id, 'RUNNING', 'PAUSED', { actor, reason });
}

/** What a human has answered and the agent has not got: it comes as a text when the session goes on. */
async function keepAnswers(tx: Tx, session: SessionRow, actor: Actor): Promise<void> {
  const pending = await tx.db
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('status', '=', 'ANSWERED')
    .where('delivery', '=', 'pending')
    .orderBy('ord')
    .execute();
  for (const each of pending)
    await enqueuePrompt(tx, session, {
      kind: 'tell',
      sourceKey: `answered:${each.id}`,
      text: `Your question was:\n${each.text}\n\nThe answer of the human is:\n${each.answer ?? ''}`,
      actor,
    });
}
