import { unfinishedSessions } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';

/**
 * Opens the doors of this node's sessions again, before anything is launched: agents that outlived a server reach the next one
 * by the folder that they have bound.
 */
export async function restoreDoors(ctx: AppContext): Promise<void> {
  const rows = await unfinishedSessions(ctx.sessions);
  await ctx.bridge.doors.restore(
    rows.map(({ id, process }) => ({ id, isLaunched: process === 'launching' || process === 'live' })),
  );
}
