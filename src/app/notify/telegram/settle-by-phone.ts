import type { DecisionRequestRow } from '../../../store/index.ts';
import type { VerdictRequest } from '../../../wire/index.ts';
import { makeVisible } from '../../../gate/index.ts';
import type { AppContext } from '../../context.ts';
import { shortTimeIn } from '../quiet-hours.ts';
import { decisionLetter, linkOf } from '../write-letter.ts';
import { callerOf, sendLetter, type Turn } from './conversation.ts';

/** What came of it, in a sentence; `isClosed` when nothing more can be decided about it. */
export interface PhoneOutcome {
  isDone: boolean;
  isClosed: boolean;
  text: string;
  /** The question that has to be answered first (S-32). */
  older?: string;
}

/** Gives one verdict as the owner's operator; a verdict that comes too late is told who was faster, and when. */
export async function settleByPhone(
  turn: Turn,
  decisionId: string,
  verdict: VerdictRequest,
  keySuffix = '',
): Promise<PhoneOutcome> {
  const caller = callerOf({ ...turn, key: `${turn.key}${keySuffix}` });
  const settled = await turn.app().decisions.settle(caller, decisionId, verdict);
  if (settled.ok) {
    const { message, replayed, decision } = settled.value;
    if (!replayed) return { isDone: true, isClosed: true, text: message };
    return { isDone: true, isClosed: true, text: await describeClosed(turn.ctx, decision.id) };
  }
  const { code, message, facts } = settled.refusal;
  // Whatever stood in the way: when it is decided by now, that is what the human wants to hear.
  const now = await readDecision(turn.ctx, decisionId);
  if (now && now.state !== 'open')
    return { isDone: false, isClosed: true, text: await describeClosed(turn.ctx, decisionId) };
  if (code === 'not_oldest_escalation' && typeof facts?.oldest === 'string') {
    const older = await decisionOfQuestion(turn.ctx, facts.oldest);
    const text = `This session asked ${older ?? facts.oldest} first: answer that one before. Nothing was sent.`;
    return { isDone: false, isClosed: false, text, ...(older === undefined ? {} : { older }) };
  }
  return { isDone: false, isClosed: false, text: makeVisible(message) };
}

/** Who decided what and when, or why nobody has to any more. */
export async function describeClosed(ctx: AppContext, decisionId: string): Promise<string> {
  const row = await readDecision(ctx, decisionId);
  if (!row) return `There is no decision ${decisionId}.`;
  if (row.state === 'open') return `Decision ${row.id} is open.`;
  const at = shortTimeIn(ctx.config.get('notify.timeZone'), row.settled_at ?? ctx.store.clock.now());
  if (row.state === 'void') return `Decision ${row.id} went away at ${at}: ${makeVisible(row.outcome ?? 'closed')}.`;
  const user = await ctx.store.read
    .selectFrom('user_account')
    .select('name')
    .where('id', '=', row.settled_by ?? '')
    .executeTakeFirst();
  return `Decision ${row.id} was already ${row.outcome ?? 'settled'} by ${user?.name ?? 'an operator'} at ${at}.`;
}

/** One decision by its own id. */
export async function readDecision(ctx: AppContext, id: string): Promise<DecisionRequestRow | undefined> {
  return ctx.store.read.selectFrom('decision_request').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Shows one decision with its buttons, or the open questions of its session in their order. */
export async function showDecision(turn: Turn, decision: DecisionRequestRow): Promise<void> {
  const isQuestion = decision.kind === 'escalation_answer' && decision.session_id !== null;
  const decisions = isQuestion ? await openQuestions(turn.ctx, decision.session_id!) : [decision];
  if (decisions.length === 0) return;
  const receiver = { canAnswer: true, carriesTexts: turn.ctx.config.get('notify.texts') !== 'none' };
  const subject = isQuestion ? `questions:${decision.session_id}` : `decision:${decision.id}`;
  await sendLetter(turn, {
    key: `${turn.key}:shown`,
    link: linkOf(turn.ctx),
    at: turn.ctx.store.clock.now(),
    ...decisionLetter(receiver, decisions, { subject, isReminder: false }),
  });
}

/** The open questions of a session, oldest first (S-32). */
export async function openQuestions(ctx: AppContext, sessionId: string): Promise<DecisionRequestRow[]> {
  const rows = await ctx.store.read
    .selectFrom('decision_request')
    .innerJoin('escalation', 'escalation.id', 'decision_request.subject_id')
    .selectAll('decision_request')
    .where('decision_request.session_id', '=', sessionId)
    .where('decision_request.kind', '=', 'escalation_answer')
    .where('decision_request.state', '=', 'open')
    .orderBy('escalation.ord')
    .execute();
  return rows;
}

async function decisionOfQuestion(ctx: AppContext, escalationId: string): Promise<string | undefined> {
  const row = await ctx.store.read
    .selectFrom('decision_request')
    .select('id')
    .where('subject_id', '=', escalationId)
    .where('state', '=', 'open')
    .executeTakeFirst();
  return row?.id;
}
