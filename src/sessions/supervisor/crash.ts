import { systemActor } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import { endSession } from '../end-session.ts';
import type { SessionContext } from '../ports.ts';
import { lockSession } from '../session-store.ts';
import { isTerminal } from '../states.ts';

export const supervisorActor = systemActor('supervisor');

/**
 * Ends a session because its generation cannot go on: START_FAILED from STARTING, else CRASHED. Nothing happens when the
 * session has ended already, has a newer generation, or is being ended on purpose.
 */
export async function failSession(
  tx: Tx,
  ctx: SessionContext,
  sessionId: string,
  generation: number,
  reason: string,
): Promise<boolean> {
  const session = await lockSession(tx, sessionId);
  if (!session || isTerminal(session.state) || session.generation !== generation) return false;
  if (session.process === 'ending') return false;
  const to = session.state === 'STARTING' ? 'START_FAILED' : 'CRASHED';
  const ended = await endSession(tx, ctx, session, to, { actor: supervisorActor, reason });
  return ended.ok;
}
