import { systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { emitOf } from './events.ts';
import { settlePrompt } from './prompts.ts';
import type { SessionRow } from './session-store.ts';
import { sessionsTopic } from './transition.ts';

/**
 * Wants a new process for a session whose last generation was ended on purpose (limit, takeover): the next generation goes
 * on with the same conversation. Whatever was addressed to the old generation is void: its answers would answer another
 * question (decision 6).
 */
export async function relaunch(tx: Tx, session: SessionRow): Promise<void> {
  const generation = session.generation + 1;
  await tx.db
    .updateTable('session')
    .set({
      generation,
      process: 'wanted',
      resume_conversation_id: session.conversation_id ?? session.resume_conversation_id,
      journal_offset: 0,
      pid: null,
      pid_started: null,
      boot_id: null,
      token_hash: null,
      turn_open: 0,
      unresponsive: 0,
      unresponsive_since: null,
      stalled: 0,
      stalled_since: null,
      stall_told: 0,
      launched_at: null,
      peer_seen_at: null,
      live_at: null,
      stopping_at: null,
      updated_at: tx.now,
    })
    .where('id', '=', session.id)
    .where('generation', '=', session.generation)
    .execute();
  await emitOf(tx, { ...session, generation }, 'session.relaunch-wanted', systemActor('supervisor'), {
    resumes: session.conversation_id !== null,
  });
  tx.wake(sessionsTopic, session.id);
}

/** Whether a generation that cannot resume its conversation may be followed by one that begins a new one: only after one that went on. */
export function mayStartAfresh(session: SessionRow): boolean {
  return session.generation > 1 && session.state === 'RUNNING' && session.resume_conversation_id !== null;
}

/**
 * The conversation is lost, the work is not (design 7): this generation is ended and the next one begins a new conversation
 * on the same branch, with the whole brief. It has nothing to resume, so this happens once at most for each loss.
 */
export async function startAfresh(tx: Tx, session: SessionRow): Promise<void> {
  await tx.db
    .updateTable('session')
    .set({ process: 'ending', conversation_id: null, resume_conversation_id: null, updated_at: tx.now })
    .where('id', '=', session.id)
    .where('generation', '=', session.generation)
    .execute();
  // The new brief holds what these say.
  const briefs = await tx.db
    .selectFrom('prompt')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('kind', '=', 'brief')
    .where('state', '=', 'queued')
    .execute();
  for (const brief of briefs) await settlePrompt(tx, session, brief, 'not_delivered');
  tx.wake(sessionsTopic, session.id);
}
