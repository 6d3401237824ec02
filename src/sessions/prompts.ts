import { type Actor, newId, systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { emitOf } from './events.ts';
import type { Db, PromptRow, SessionRow } from './session-store.ts';
import { sessionsTopic } from './transition.ts';

/** Woken with a prompt's id when it got its verdict. */
export const promptsTopic = 'prompts';

/** A text for an agent. `sourceKey` is deterministic: enqueued again, nothing is added. */
export interface NewPrompt {
  kind: PromptRow['kind'];
  sourceKey: string;
  text: string;
  urgent?: boolean;
  actor?: Actor;
}

/** Puts a text into the session's queue; gives its row, the earlier one when it was there already. */
export async function enqueuePrompt(tx: Tx, session: SessionRow, prompt: NewPrompt): Promise<PromptRow> {
  const id = newId();
  const added = await tx.db
    .insertInto('prompt')
    .values({
      id,
      session_id: session.id,
      kind: prompt.kind,
      source_key: prompt.sourceKey,
      text: prompt.text,
      urgent: prompt.urgent ? 1 : 0,
      state: 'queued',
      generation: null,
      rpc_id: null,
      stop_reason: null,
      created_at: tx.now,
      sent_at: null,
      settled_at: null,
    })
    .onConflict((conflict) => conflict.columns(['session_id', 'source_key']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!added) {
    return tx.db
      .selectFrom('prompt')
      .selectAll()
      .where('session_id', '=', session.id)
      .where('source_key', '=', prompt.sourceKey)
      .executeTakeFirstOrThrow();
  }
  await emitOf(
    tx,
    session,
    'prompt.queued',
    prompt.actor ?? systemActor('prompts'),
    { prompt_kind: prompt.kind, length: prompt.text.length, urgent: prompt.urgent ?? false },
    { kind: 'prompt', id },
  );
  tx.wake(sessionsTopic, session.id);
  return added;
}

/** Gives a prompt its delivery verdict (decision 8); `unconfirmed` may still become `delivered`, the others are final. */
export async function settlePrompt(
  tx: Tx,
  session: SessionRow,
  prompt: PromptRow,
  verdict: 'delivered' | 'unconfirmed' | 'not_delivered',
): Promise<boolean> {
  const settled = await tx.db
    .updateTable('prompt')
    .set({ state: verdict, settled_at: tx.now })
    .where('id', '=', prompt.id)
    .where('state', 'in', verdict === 'delivered' ? ['queued', 'sending', 'unconfirmed'] : ['queued', 'sending'])
    .returning('id')
    .executeTakeFirst();
  if (!settled) return false;
  await emitOf(
    tx,
    session,
    'prompt.settled',
    systemActor('prompts'),
    { verdict, prompt_kind: prompt.kind },
    { kind: 'prompt', id: prompt.id },
  );
  tx.wake(promptsTopic, prompt.id);
  if (verdict === 'delivered' && prompt.kind === 'brief') await settleFolded(tx, session, prompt);
  return true;
}

/** Texts told while nobody could hear them, and not sent as prompts of their own: queued, or folded into a brief that never arrived. */
export async function waitingTexts(db: Db, sessionId: string): Promise<PromptRow[]> {
  return db
    .selectFrom('prompt')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('kind', '=', 'tell')
    .where('state', 'in', ['queued', 'unconfirmed'])
    .where('sent_at', 'is', null)
    .orderBy('ord')
    .execute();
}

/** These texts stand in the brief of the session's generation: unconfirmed until that is delivered. */
export async function foldPrompts(tx: Tx, session: SessionRow, promptIds: readonly string[]): Promise<void> {
  for (const prompt of await waitingTexts(tx.db, session.id)) {
    if (!promptIds.includes(prompt.id)) continue;
    await tx.db.updateTable('prompt').set({ generation: session.generation }).where('id', '=', prompt.id).execute();
    await settlePrompt(tx, session, prompt, 'unconfirmed');
  }
}

async function settleFolded(tx: Tx, session: SessionRow, brief: PromptRow): Promise<void> {
  for (const prompt of await waitingTexts(tx.db, session.id))
    if (prompt.state === 'unconfirmed' && prompt.generation === brief.generation)
      await settlePrompt(tx, session, prompt, 'delivered');
}
