import { systemActor } from '../../kernel/index.ts';
import { activeStates, endSession, lockSession } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { restoredReason } from './manifest.ts';

const actor = systemActor('restore');

/**
 * Ends every living session that a backup brought back: their processes are nobody's any more. Called at each start before
 * supervision; what the last `instance.restored` event came after decides, so that a start that died is simply gone on with.
 * A session that began after it is left alone. Gives the ids of those that ended.
 */
export async function settleRestore(ctx: AppContext): Promise<string[]> {
  const db = ctx.store.read;
  const restored = await db
    .selectFrom('event')
    .select('ord')
    .where('kind', '=', 'instance.restored')
    .orderBy('ord', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!restored) return [];
  const old = await db
    .selectFrom('session')
    .select('id')
    .where('state', 'in', activeStates)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('event')
            .select('event.ord')
            .where('event.subject_kind', '=', 'session')
            .whereRef('event.subject_id', '=', 'session.id')
            .where('event.kind', '=', 'session.started')
            .where('event.ord', '>', restored.ord),
        ),
      ),
    )
    .orderBy('id')
    .execute();
  for (const { id } of old) {
    await ctx.store.tx(async (tx) => {
      const row = await lockSession(tx, id);
      if (!row || !activeStates.includes(row.state)) return;
      const to = row.state === 'STARTING' ? 'START_FAILED' : 'CRASHED';
      await endSession(tx, ctx.sessions, row, to, { actor, reason: restoredReason });
    });
  }
  if (old.length > 0) ctx.log.warn({ sessions: old.length }, 'sessions of before the restore were ended');
  return old.map(({ id }) => id);
}
