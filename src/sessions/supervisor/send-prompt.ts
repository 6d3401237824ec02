import { markAnswerDelivered } from '../escalations.ts';
import type { SessionContext } from '../ports.ts';
import { pauseForBudget } from '../hold-turn.ts';
import { settlePrompt } from '../prompts.ts';
import { toSession } from '../session.ts';
import { lockSession, type PromptRow, type SessionRow } from '../session-store.ts';
import type { Attached } from './attached.ts';

/** How long a turn waits that others have taken the room of in its budget (ms). */
const roomPollMs = 2_000;

/**
 * Sends the next prompt when no turn is open, or cancels the open turn for an urgent one. In ESCALATED only answers go out:
 * a question holds the session until it is answered. The row says `sending` before a byte is written, so that a prompt
 * whose server died is sent by the next one under the same id, and never twice (decision 8). What its turn is expected to
 * use is reserved in the same transaction (decision 7). Gives after how many ms it is to be called again, if at all.
 */
export async function sendNextPrompt(
  ctx: SessionContext,
  row: SessionRow,
  attached: Attached,
): Promise<number | undefined> {
  if (row.state !== 'RUNNING' && row.state !== 'ESCALATED') return undefined;
  const { phase, turn } = attached.link.snapshot();
  if (phase !== 'open') return undefined;
  const takesAnyTime = attached.profile.driver === 'command';
  if (turn !== 'idle' && !takesAnyTime) {
    if (row.state === 'RUNNING' && (await isUrgentWaiting(ctx, row))) await attached.link.cancelTurn();
    return undefined;
  }
  const prompt = await takeNext(ctx, row, attached);
  if (!prompt || prompt === 'wait') return prompt && roomPollMs;
  const sent = await attached.link.prompt(prompt.id, prompt.text);
  if (sent.ok) {
    const isFinal = sent.value.verdict !== 'unconfirmed' || takesAnyTime;
    if (isFinal) await giveVerdict(ctx, row, prompt, sent.value.verdict);
    return undefined;
  }
  if (sent.refusal.code === 'no_prompts') await giveVerdict(ctx, row, prompt, 'not_delivered');
  else await putBack(ctx, prompt);
  return undefined;
}

async function isUrgentWaiting(ctx: SessionContext, row: SessionRow): Promise<boolean> {
  const urgent = await ctx.store.read
    .selectFrom('prompt')
    .select('id')
    .where('session_id', '=', row.id)
    .where('state', '=', 'queued')
    .where('urgent', '=', 1)
    .executeTakeFirst();
  return urgent !== undefined;
}

/** The prompt that is being sent already, else the next one: the brief first, urgent before others, then in order. */
async function takeNext(
  ctx: SessionContext,
  row: SessionRow,
  attached: Attached,
): Promise<PromptRow | 'wait' | undefined> {
  const known = new Set(attached.link.snapshot().prompts.map((prompt) => prompt.promptId));
  return ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, row.id);
    if (!session || session.generation !== row.generation) return undefined;
    if (session.state !== 'RUNNING' && session.state !== 'ESCALATED') return undefined;
    const open = await tx.db
      .selectFrom('prompt')
      .selectAll()
      .where('session_id', '=', session.id)
      .where('state', 'in', ['queued', 'sending'])
      .orderBy((eb) => eb.case().when('kind', '=', 'brief').then(0).else(1).end())
      .orderBy('urgent', 'desc')
      .orderBy('ord')
      .execute();
    for (const prompt of open.filter((each) => each.state === 'sending')) {
      if (prompt.generation !== session.generation) await settlePrompt(tx, session, prompt, 'unconfirmed');
      // In the file already: its verdict is on the way. Else its server died before it was written.
      else if (!known.has(prompt.id)) return prompt;
      else return undefined;
    }
    const next = open.find(
      (each) => each.state === 'queued' && (session.state === 'RUNNING' || each.kind === 'answer'),
    );
    if (!next) return undefined;
    if (next.kind === 'answer' && !(await isStillPending(tx.db, next))) {
      await settlePrompt(tx, session, next, 'not_delivered');
      return undefined;
    }
    const room = await ctx.ports.reserveTurn(tx, toSession(session), next);
    if (room === 'wait') return 'wait';
    if (room === 'pause' && (await pauseForBudget(tx, ctx, session))) return undefined;
    await tx.db
      .updateTable('prompt')
      .set({ state: 'sending', generation: session.generation, sent_at: tx.now })
      .where('id', '=', next.id)
      .execute();
    return next;
  });
}

/** Whether the answer that this prompt carries was not fetched by the agent meanwhile. */
async function isStillPending(db: SessionContext['store']['read'], prompt: PromptRow): Promise<boolean> {
  const answer = await db
    .selectFrom('escalation')
    .select('id')
    .where('id', '=', escalationOf(prompt))
    .where('delivery', '=', 'pending')
    .executeTakeFirst();
  return answer !== undefined;
}

async function giveVerdict(
  ctx: SessionContext,
  row: SessionRow,
  prompt: PromptRow,
  verdict: 'delivered' | 'unconfirmed' | 'not_delivered',
): Promise<void> {
  await ctx.store.tx(async (tx) => {
    await settlePrompt(tx, row, prompt, verdict);
    // A program without a protocol proves nothing: its answer counts as given once it is written.
    if (prompt.kind === 'answer' && verdict !== 'not_delivered')
      await markAnswerDelivered(tx, ctx, escalationOf(prompt));
  });
}

async function putBack(ctx: SessionContext, prompt: PromptRow): Promise<void> {
  await ctx.store.tx((tx) =>
    tx.db
      .updateTable('prompt')
      .set({ state: 'queued', generation: null, sent_at: null })
      .where('id', '=', prompt.id)
      .where('state', '=', 'sending')
      .execute(),
  );
}

function escalationOf(prompt: PromptRow): string {
  return prompt.source_key.slice('answer:'.length);
}
