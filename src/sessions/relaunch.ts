import { systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { emitOf } from './events.ts';
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
