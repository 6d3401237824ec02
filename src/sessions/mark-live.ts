import { systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { emitOf } from './events.ts';
import type { SessionRow } from './session-store.ts';
import { transition } from './transition.ts';

/** First liveness: STARTING → RUNNING, the elapsed time in the log so that the timeout can be tuned (S-28, S-29). */
export async function markLive(tx: Tx, session: SessionRow, by: string): Promise<SessionRow> {
  if (session.live_at === null) {
    await tx.db
      .updateTable('session')
      .set({ live_at: tx.now, last_seen_at: tx.now })
      .where('id', '=', session.id)
      .execute();
    await emitOf(tx, session, 'session.live', systemActor('supervisor'), {
      by,
      elapsed_ms: tx.now - (session.launched_at ?? session.created_at),
    });
  }
  if (session.state !== 'STARTING') return session;
  const moved = await transition(tx, session.id, 'STARTING', 'RUNNING', {
    actor: systemActor('supervisor'),
    reason: 'live',
    facts: { by },
  });
  return moved.ok ? moved.value : session;
}
