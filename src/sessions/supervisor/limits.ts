import { openDecision, type Tx } from '../../store/index.ts';
import { holdTurn } from '../commands/pause-session.ts';
import type { DriverEvent } from '../drivers/index.ts';
import { emitOf } from '../events.ts';
import type { SessionContext } from '../ports.ts';
import type { Db, SessionRow } from '../session-store.ts';
import { transition } from '../transition.ts';
import { supervisorActor } from './crash.ts';

/** How long a limit without a time of its own is taken to last (ms). */
const assumedLimitMs = 15 * 60_000;

/**
 * The provider takes nothing more (design 7): `limited until T`, RUNNING → PAUSED with the flag, the generation ended on
 * purpose; after T the same conversation goes on by itself. Without a time to wait for (log-in, billing) a human is asked.
 */
export async function applyLimit(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  limit: Extract<DriverEvent, { kind: 'limit' }>,
): Promise<void> {
  const passes = limit.reason === 'usage' || limit.reason === 'rate';
  const until = limit.untilMs ?? (passes ? tx.now + assumedLimitMs : null);
  await tx.db
    .updateTable('session')
    .set({ limited_until: until, updated_at: tx.now })
    .where('id', '=', session.id)
    .execute();
  await emitOf(tx, session, 'session.flagged', supervisorActor, {
    flag: 'limited',
    on: true,
    limit: limit.reason,
    until,
    basis: limit.asserted ? 'asserted' : 'inferred',
  });
  if (until === null)
    await openDecision(tx, {
      kind: 'provider_limit',
      subject: { kind: 'agent', id: session.agent },
      sessionId: session.id,
      title: `${session.agent}: the provider refuses (${limit.reason}); resume ${session.work_key} when it is settled`,
      detail: { agent: session.agent, reason: limit.reason, work_key: session.work_key },
      actor: supervisorActor,
    });
  if (session.state !== 'RUNNING') return;
  const paused = await transition(tx, session.id, 'RUNNING', 'PAUSED', { actor: supervisorActor, reason: 'limited' });
  if (!paused.ok) return;
  await holdTurn(tx, ctx, paused.value);
  if (session.process === 'live')
    await tx.db.updateTable('session').set({ process: 'ending' }).where('id', '=', session.id).execute();
}

/** Until when the provider of this agent takes nothing more, as its sessions were told; nothing is started on it before. */
export async function readAgentLimit(db: Db, agent: string, now: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('session')
    .select((eb) => eb.fn.max('limited_until').as('until'))
    .where('agent', '=', agent)
    .where('limited_until', '>', now)
    .executeTakeFirst();
  return row?.until === null || row?.until === undefined ? undefined : Number(row.until);
}
