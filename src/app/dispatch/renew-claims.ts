import { heartbeat } from '../../ledger/index.ts';
import type { AppContext } from '../context.ts';

/** How often claims are renewed: a third of their life (README section 4 of the specification). */
const renewEveryMs = 30_000;

/**
 * Renews the task claims of the living sessions of this node, with presence: a session lives as long as the supervisor has
 * not ended it. Gives the function that stops it.
 */
export function startClaimRenewal(ctx: AppContext): () => void {
  const renew = (): void => {
    renewClaims(ctx).catch((error: unknown) => ctx.log.error({ err: error }, 'claims could not be renewed'));
  };
  const timer = setInterval(renew, renewEveryMs);
  renew();
  return () => clearInterval(timer);
}

/** One pass; gives the number of claims that were renewed. */
export async function renewClaims(ctx: AppContext): Promise<number> {
  const sessions = await ctx.store.read
    .selectFrom('session')
    .select(['task_id', 'task_fence'])
    .where('node_id', '=', ctx.nodeId)
    .where('ended_at', 'is', null)
    .where('task_id', 'is not', null)
    .where('task_fence', 'is not', null)
    .execute();
  let renewed = 0;
  for (const { task_id: taskId, task_fence: fence } of sessions) {
    const result = await ctx.store.tx((tx) => heartbeat(tx, { taskId: taskId!, fence: fence!, evenIfExpired: true }));
    if (result.ok) renewed++;
  }
  return renewed;
}
