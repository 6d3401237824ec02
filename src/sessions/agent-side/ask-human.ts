import { type Json, ok, refuse, type Result } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import { escalationsTopic } from '../end-session.ts';
import { markAnswerDelivered, openEscalation } from '../escalations.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import type { EscalationRow, TokenHolder } from '../session-store.ts';
import { asAgent, lockHolder, mayTalk } from './holder.ts';
import { startWaiting } from './waiting-asks.ts';

/** What the agent gets: the answer, or that it is still open and can be waited for by its id. */
export type AskOutcome =
  | { status: 'answered'; id: string; answer: string }
  | { status: 'pending'; id: string; open_before: number };

/** How long one call waits at most before it answers `pending` (ms); clients cut longer calls. */
export const defaultAskBudgetMs = 50_000;

export interface WaitOptions {
  /** Default 50 s. */
  budgetMs?: number;
  /** Ends the wait early, when the caller is gone. */
  signal?: AbortSignal;
}

/**
 * `ask_human`: opens a question and waits for the answer (S-31, decision 6). Asked again under the same key it is the same
 * question, so the bridge may repeat a call that was cut. Refused for reviewers and QA, for invalid texts and ended sessions.
 */
export async function askHuman(
  ctx: SessionContext,
  holder: TokenHolder,
  question: { text: unknown; key: unknown; choices?: readonly string[] },
  wait: WaitOptions = {},
): Promise<Result<AskOutcome>> {
  const asked = await asAgent(ctx.store, holder, 'ESCALADE', async (tx) => {
    const may = mayTalk(holder, 'ask');
    if (!may.ok) return may;
    const key = fields.idempotencyKey(question.key);
    if (!key.ok) return key;
    const text = fields.escalationText(question.text);
    if (!text.ok) return text;
    const choices = checkChoices(question.choices);
    if (!choices.ok) return choices;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    const { escalation } = await openEscalation(tx, session.value, {
      source: 'ask_human',
      text: text.value,
      askKey: key.value,
      ...(choices.value.length > 0 ? { form: { choices: choices.value } } : {}),
    });
    return ok(escalation);
  });
  return asked.ok ? waitFor(ctx, holder, asked.value.id, wait) : asked;
}

/** `wait_answer`: waits for a question of this session that was asked before. */
export async function waitAnswer(
  ctx: SessionContext,
  holder: TokenHolder,
  request: { id: unknown },
  wait: WaitOptions = {},
): Promise<Result<AskOutcome>> {
  const id = fields.escalationId(request.id);
  return id.ok ? waitFor(ctx, holder, id.value, wait) : id;
}

function checkChoices(choices: readonly string[] | undefined): Result<string[]> {
  const checked: string[] = [];
  for (const choice of choices ?? []) {
    const text = fields.reason(choice);
    if (!text.ok) return text;
    checked.push(text.value);
  }
  return checked.length <= 20
    ? ok(checked)
    : refuse('invalid', 'choices_invalid', 'Rejected: at most 20 choices can be offered.');
}

async function waitFor(
  ctx: SessionContext,
  holder: TokenHolder,
  id: string,
  { budgetMs = defaultAskBudgetMs, signal }: WaitOptions,
): Promise<Result<AskOutcome>> {
  const deadline = performance.now() + budgetMs;
  const stopWaiting = startWaiting(id);
  try {
    for (;;) {
      const woken = wakeOf(ctx.store, id, Math.max(0, deadline - performance.now()), signal);
      const found = await readAsked(ctx.store, holder, id);
      if (!found || found.status === 'CLOSED' || found.answer !== null) {
        woken.cancel();
        return found ? await handOver(ctx, found) : unknownQuestion(id);
      }
      await woken.done;
      if (signal?.aborted || performance.now() >= deadline) return ok(await pending(ctx.store, found));
    }
  } finally {
    stopWaiting();
  }
}

/** Only questions of the holder's own session. */
async function readAsked(store: Store, holder: TokenHolder, id: string): Promise<EscalationRow | undefined> {
  return store.read
    .selectFrom('escalation')
    .selectAll()
    .where('id', '=', id)
    .where('session_id', '=', holder.sessionId)
    .executeTakeFirst();
}

async function handOver(ctx: SessionContext, found: EscalationRow): Promise<Result<AskOutcome>> {
  if (found.answer === null)
    return refuse('wrong-state', 'question_closed', `Question ${found.id} was closed: ${found.closure_reason ?? ''}.`, {
      id: found.id,
      reason: found.closure_reason,
    });
  await ctx.store.tx((tx) => markAnswerDelivered(tx, ctx, found.id));
  return ok({ status: 'answered', id: found.id, answer: found.answer });
}

async function pending(store: Store, found: EscalationRow): Promise<AskOutcome> {
  const before = await store.read
    .selectFrom('escalation')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('session_id', '=', found.session_id)
    .where('status', '=', 'OPEN')
    .where('ord', '<', found.ord)
    .executeTakeFirstOrThrow();
  return { status: 'pending', id: found.id, open_before: Number(before.count) };
}

function unknownQuestion(id: string): Result<never> {
  return refuse('not-found', 'unknown_question', `This session asked no question ${id}.`, { id } satisfies Record<
    string,
    Json
  >);
}

/** Done when the question is woken, the time is over, or the caller is gone; looked at anyway each 10 s. */
function wakeOf(
  store: Store,
  id: string,
  withinMs: number,
  signal: AbortSignal | undefined,
): { done: Promise<void>; cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(withinMs, 10_000));
  const off = store.onWake(escalationsTopic, (subject) => {
    if (subject === id || subject === '') resolve();
  });
  const onAbort = (): void => resolve();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) resolve();
  const cancel = (): void => {
    clearTimeout(timer);
    off();
    signal?.removeEventListener('abort', onAbort);
    resolve();
  };
  return { done: promise.then(cancel), cancel };
}
