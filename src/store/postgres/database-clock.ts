import type { Pool } from 'pg';

import { type Clock, systemClock } from '../../kernel/index.ts';

/** A clock that follows the database's, so that all nodes judge deadlines by one (ledger decision 23). */
export interface DatabaseClock extends Clock {
  /** Measures the difference between the clocks again. */
  adjust(): Promise<void>;
  stop(): void;
}

/** Clocks drift, and get set. */
const adjustEveryMs = 60_000;

/** This machine's clock plus its measured difference to the database's; without an answer the last difference stays. */
export function createDatabaseClock(pool: Pool): DatabaseClock {
  let aheadMs = 0;

  async function adjust(): Promise<void> {
    const before = systemClock.now();
    const sentAt = systemClock.monotonic();
    const { rows } = await pool.query<{ now: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    const halfWayMs = (systemClock.monotonic() - sentAt) / 2;
    aheadMs = (rows[0]?.now ?? before) - (before + halfWayMs);
  }

  const timer = setInterval(() => void adjust().catch(() => {}), adjustEveryMs);
  return {
    now: () => Math.round(systemClock.now() + aheadMs),
    monotonic: systemClock.monotonic,
    adjust,
    stop: () => clearInterval(timer),
  };
}
