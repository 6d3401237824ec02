import type { Tx } from '../../store/index.ts';
import type { LivenessEvent } from '../drivers/index.ts';
import { emitOf } from '../events.ts';
import type { SessionContext } from '../ports.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import { sessionsTopic } from '../transition.ts';
import { supervisorActor } from './crash.ts';

/** Sets and clears the flags UNRESPONSIVE and STALLED; never a state (decision 4). */
export async function applyFlag(
  ctx: SessionContext,
  at: { sessionId: string; generation: number },
  event: Exclude<LivenessEvent, { kind: 'exited' }>,
): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, at.sessionId);
    if (!session || isTerminal(session.state) || session.generation !== at.generation) return;
    switch (event.kind) {
      case 'unresponsive':
        return setFlag(tx, session, 'unresponsive', tx.now - event.silentForMs);
      case 'responsive':
        return setFlag(tx, session, 'unresponsive', null);
      case 'stalled':
        return setFlag(tx, session, 'stalled', tx.now - event.silentForMs);
      case 'unstalled':
        return setFlag(tx, session, 'stalled', null);
    }
  });
}

/** `since` null clears the flag. */
export async function setFlag(
  tx: Tx,
  session: SessionRow,
  flag: 'unresponsive' | 'stalled',
  since: number | null,
): Promise<void> {
  const on = since !== null;
  if ((session[flag] === 1) === on) return;
  await tx.db
    .updateTable('session')
    .set(
      flag === 'unresponsive'
        ? { unresponsive: on ? 1 : 0, unresponsive_since: since, updated_at: tx.now }
        : { stalled: on ? 1 : 0, stalled_since: since, updated_at: tx.now },
    )
    .where('id', '=', session.id)
    .execute();
  await emitOf(tx, session, 'session.flagged', supervisorActor, { flag, on, basis: 'inferred' });
  tx.wake(sessionsTopic, session.id);
}
