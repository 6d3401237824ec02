import { newId, ok, refuse, type Result } from '../kernel/index.ts';
import { type Keyed, onceForKey, type Store, type Tx } from '../store/index.ts';
import type { Caller } from './commands/guards.ts';
import { keyedRequest } from './commands/guards.ts';
import { fields } from './fields.ts';
import type { SessionContext } from './ports.ts';
import { enqueuePrompt, promptsTopic } from './prompts.ts';
import { findLastByWorkKey, findSession, lockSession, type PromptRow } from './session-store.ts';
import { isTerminal } from './states.ts';

/** A prompt with what is known of its delivery (decision 8). */
export type PromptView = {
  prompt_id: string;
  session_id: string;
  /** `queued` and `sending` are on the way; the others are verdicts. */
  delivery: PromptRow['state'];
};

/**
 * `tell`: a text for the agent, queued behind the open turn, or with `now` at once (the open turn is cancelled). Refused for
 * a session that has ended. `session` is an id, or a work key (its active session, else the last one).
 */
export async function tellSession(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: { session: string; text: unknown; now?: boolean; key: unknown },
): Promise<Result<Keyed<PromptView>>> {
  const { session: ref, now = false } = request;
  const keyed = keyedRequest(ctx, caller, 'tell', request.key, { session: ref, text: request.text, now });
  return onceForKey<PromptView>(tx, keyed, async () => {
    const text = fields.promptText(request.text);
    if (!text.ok) return text;
    const found = (await findSession(tx.db, ref)) ?? (await findLastByWorkKey(tx.db, ref));
    const session = found && (await lockSession(tx, found.id));
    if (!session) return refuse('not-found', 'unknown_session', `There is no session ${ref}.`, { session: ref });
    if (isTerminal(session.state))
      return refuse(
        'wrong-state',
        'session_ended',
        `Session ${session.work_key} is ${session.state}; it takes no more texts.`,
        {
          session_id: session.id,
          state: session.state,
        },
      );
    const prompt = await enqueuePrompt(tx, session, {
      kind: 'tell',
      sourceKey: `tell:${newId()}`,
      text: text.value,
      urgent: now,
      actor: caller.actor,
    });
    return ok({ prompt_id: prompt.id, session_id: session.id, delivery: prompt.state });
  });
}

/** Waits until the prompt has a verdict, at most `budgetMs`; then says what is known. */
export async function waitPrompt(store: Store, promptId: string, budgetMs: number): Promise<PromptView | undefined> {
  const deadline = performance.now() + budgetMs;
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const off = store.onWake(promptsTopic, (subject) => {
      if (subject === promptId) resolve();
    });
    const timer = setTimeout(resolve, Math.min(2_000, Math.max(0, deadline - performance.now())));
    try {
      const row = await store.read.selectFrom('prompt').selectAll().where('id', '=', promptId).executeTakeFirst();
      if (!row) return undefined;
      const isOnTheWay = row.state === 'queued' || row.state === 'sending';
      if (!isOnTheWay || performance.now() >= deadline)
        return { prompt_id: row.id, session_id: row.session_id, delivery: row.state };
      await promise;
    } finally {
      clearTimeout(timer);
      off();
    }
  }
}
