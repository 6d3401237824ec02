import { purgeExpiredKeys } from './idempotency.ts';
import type { Store, Tx } from './store.ts';

/** Removes what has had its time; safe to run on every node. */
export interface Housekeeping {
  /** Cleans now; gives how many rows went. */
  clean(): Promise<number>;
  stop(): Promise<void>;
}

const hourMs = 3_600_000;
/** Done effects are kept so long, so that their keys still stop a repetition. */
const doneEffectMs = 30 * 24 * hourMs;
/** Released leases of background loops; those of the work are history and stay. */
const runnerLeaseMs = 24 * hourMs;

/**
 * Starts an hourly cleaning: expired idempotency records (S-25), effects done 30 days ago, leases that background loops
 * released a day ago. `onError` is told when one failed; the next tries again.
 */
export function startHousekeeping(store: Store, options: { onError?: (error: unknown) => void } = {}): Housekeeping {
  let running: Promise<unknown> = Promise.resolve();
  const clean = (): Promise<number> => {
    const cleaning = store.tx(
      async (tx) => (await purgeExpiredKeys(tx)) + (await purgeEffects(tx)) + (await purgeLeases(tx)),
    );
    running = cleaning.catch(() => {});
    return cleaning;
  };
  const timer = setInterval(() => void clean().catch((error: unknown) => options.onError?.(error)), hourMs);
  timer.unref();
  return {
    clean,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

async function purgeEffects(tx: Tx): Promise<number> {
  const result = await tx.db
    .deleteFrom('effect')
    .where('state', '=', 'done')
    .where('done_at', '<', tx.now - doneEffectMs)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** The newest row of each loop stays: the next fence counts on from it. */
async function purgeLeases(tx: Tx): Promise<number> {
  const result = await tx.db
    .deleteFrom('lease')
    .where('resource_type', '=', 'runner')
    .where('released_at', '<', tx.now - runnerLeaseMs)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('lease as newer')
          .select('newer.id')
          .whereRef('newer.resource_type', '=', 'lease.resource_type')
          .whereRef('newer.resource_id', '=', 'lease.resource_id')
          .whereRef('newer.slot', '=', 'lease.slot')
          .whereRef('newer.fence', '>', 'lease.fence'),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
