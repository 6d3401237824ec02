import type { Json } from '../../kernel/index.ts';
import { isWaitedFor } from '../agent-side/waiting-asks.ts';
import type { LinkSnapshot, PermissionChoice } from '../drivers/index.ts';
import { markAnswerDelivered } from '../escalations.ts';
import { applyJudgement, askOf, markPermissionDelivered } from '../permissions.ts';
import type { SessionContext } from '../ports.ts';
import { enqueuePrompt } from '../prompts.ts';
import { toSession } from '../session.ts';
import { findSession, lockSession, type PermissionRequestRow, type SessionRow } from '../session-store.ts';
import { answerContent } from './answer-content.ts';
import type { Attached } from './attached.ts';
import { sendNextPrompt } from './send-prompt.ts';

/** How long an agent's own call may take to come and fetch its answer before the answer is sent as a prompt (ms). */
const fetchGraceMs = 1_500;

/**
 * Brings a living agent what waits for it in the store: judgements, answers, the pause, the next prompt. Level-triggered and
 * safe to repeat: everything is stored before it is sent, and the link sends nothing twice (decision 6).
 * Gives after how many ms it wants to be called again, if at all.
 */
export async function pump(ctx: SessionContext, attached: Attached): Promise<number | undefined> {
  const { link } = attached;
  const { phase } = link.snapshot();
  if (phase === 'ended' || phase === 'failed') return undefined;
  const before = await current(ctx, attached);
  if (!before) return undefined;
  await judgeNew(ctx, before);
  await answerPermissions(ctx, before, attached);
  await answerQuestions(ctx, before, attached);
  await declineUnasked(before, attached, link.snapshot());
  const row = await current(ctx, attached);
  if (!row || row.process !== 'live') return undefined;
  const { turn } = link.snapshot();
  if (row.state === 'PAUSED') {
    if (turn !== 'idle') await link.cancelTurn();
    return undefined;
  }
  const again = turn === 'idle' ? await queueUnfetchedAnswers(ctx, row) : undefined;
  const later = await sendNextPrompt(ctx, row, attached);
  return again === undefined || later === undefined ? (again ?? later) : Math.min(again, later);
}

async function current(ctx: SessionContext, attached: Attached): Promise<SessionRow | undefined> {
  const row = await findSession(ctx.store.read, attached.sessionId);
  return row?.generation === attached.generation ? row : undefined;
}

/** Requests that nobody has judged yet: new ones, and those whose judge died with the server. */
async function judgeNew(ctx: SessionContext, row: SessionRow): Promise<void> {
  const requests = await requestsOf(ctx, row, (each) => each.state === 'judging');
  for (const request of requests) {
    const judgement = await ctx.ports.judgePermission(toSession(row), askOf(request));
    await ctx.store.tx((tx) => applyJudgement(tx, ctx, request.id, judgement));
  }
}

async function answerPermissions(ctx: SessionContext, row: SessionRow, { link }: Attached): Promise<void> {
  const requests = await requestsOf(ctx, row, (each) => each.delivery === 'pending');
  for (const request of requests) {
    const answered = await link.answerPermission(request.rpc_id, choose(request));
    const isOver = answered.ok || ['request_settled', 'request_unknown'].includes(answered.refusal.code);
    if (isOver) await ctx.store.tx((tx) => markPermissionDelivered(tx, row, request.id));
  }
}

async function requestsOf(
  ctx: SessionContext,
  row: SessionRow,
  wanted: (request: PermissionRequestRow) => boolean,
): Promise<PermissionRequestRow[]> {
  const requests = await ctx.store.read
    .selectFrom('permission_request')
    .selectAll()
    .where('session_id', '=', row.id)
    .where('generation', '=', row.generation)
    .where((eb) => eb.or([eb('state', '=', 'judging'), eb('delivery', '=', 'pending')]))
    .orderBy('created_at')
    .execute();
  return requests.filter(wanted);
}

/** By kind, never by the agent's own option id; the narrowest that says it. Without a fitting one: cancelled, never allowed. */
export function choose(request: Pick<PermissionRequestRow, 'state' | 'choices'>): PermissionChoice | 'cancelled' {
  const offered = JSON.parse(request.choices) as PermissionChoice[];
  const wanted: PermissionChoice[] =
    request.state === 'allowed'
      ? ['allow_once', 'allow_always']
      : request.state === 'rejected'
        ? ['reject_once', 'reject_always']
        : [];
  return wanted.find((choice) => offered.includes(choice)) ?? 'cancelled';
}

/** Answers to questions of the agent's protocol, fenced by generation: those of an older one go as a prompt instead. */
async function answerQuestions(ctx: SessionContext, row: SessionRow, { link }: Attached): Promise<void> {
  const answers = await ctx.store.read
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', row.id)
    .where('delivery', '=', 'pending')
    .where('generation', '=', row.generation)
    .where('rpc_id', 'is not', null)
    .orderBy('ord')
    .execute();
  for (const each of answers) {
    if (each.rpc_id === null || each.answer === null) continue;
    const schema = each.form === null ? undefined : (JSON.parse(each.form) as Json);
    const sent = await link.answerQuestion(each.rpc_id, answerContent(schema, each.answer));
    const isOver = sent.ok || ['request_settled', 'request_unknown'].includes(sent.refusal.code);
    if (isOver) await ctx.store.tx((tx) => markAnswerDelivered(tx, ctx, each.id));
  }
}

/** Reviewers and QA ask nothing: the question of their protocol is declined at once. */
async function declineUnasked(row: SessionRow, { link }: Attached, { questions }: LinkSnapshot): Promise<void> {
  if (row.role === 'author') return;
  for (const question of questions) await link.answerQuestion(question.requestId, { action: 'decline' });
}

/** Answers that no call of the agent came for, because its turn has ended: they start the next turn (S-37). */
async function queueUnfetchedAnswers(ctx: SessionContext, row: SessionRow): Promise<number | undefined> {
  if (row.state !== 'ESCALATED') return undefined;
  const pending = await ctx.store.read
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', row.id)
    .where('delivery', '=', 'pending')
    .where((eb) => eb.or([eb('rpc_id', 'is', null), eb('generation', '!=', row.generation)]))
    .orderBy('ord')
    .execute();
  const unfetched = pending.filter((each) => !isWaitedFor(each.id));
  const ripe = unfetched.filter((each) => ctx.store.clock.now() - (each.answered_at ?? 0) >= fetchGraceMs);
  if (ripe.length > 0)
    await ctx.store.tx(async (tx) => {
      const session = await lockSession(tx, row.id);
      if (session?.state !== 'ESCALATED') return;
      for (const each of ripe)
        await enqueuePrompt(tx, session, {
          kind: 'answer',
          sourceKey: `answer:${each.id}`,
          text: `Your question was:\n${each.text}\n\nThe answer of the human is:\n${each.answer ?? ''}`,
        });
    });
  return unfetched.length > ripe.length ? fetchGraceMs : undefined;
}
