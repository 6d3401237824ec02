import { setTimeout as delay } from 'node:timers/promises';

import { type ControlledTransaction, Kysely, PostgresDialect, sql } from 'kysely';

import { type Clock, Fault, isRefused } from '../../kernel/index.ts';
import { appendUnsequenced } from '../events.ts';
import { gather } from '../gather.ts';
import { migrate } from '../migrate.ts';
import { createNestingGuard } from '../nesting.ts';
import type { Schema } from '../schema/index.ts';
import { eventsTopic, type Store, type Tx } from '../store.ts';
import { createWakeHub } from '../wake.ts';
import { checkServer } from './check-server.ts';
import { commitUnknown, isConnectionLoss, isRetryable, toFault } from './faults.ts';
import { createDatabaseClock } from './database-clock.ts';
import { createPool } from './pool.ts';
import { ReadingDialect } from './reading-dialect.ts';
import { startSequencer } from './sequencer.ts';
import { startWakeUps } from './wake-ups.ts';

/** How a PostgreSQL store is opened. */
export interface PostgresOptions {
  /** Default: the database's, one for all nodes. */
  clock?: Clock;
  /** Most connections for use cases and reads; default 10. Two more are used for listening and numbering. */
  maxConnections?: number;
  /** How long to wait for a connection; default 10 s. */
  connectTimeoutMs?: number;
}

const maxRetries = 5;
const longestBackOffMs = 320;

/**
 * Opens (and migrates) the store in a PostgreSQL database. Throws `Fault` `postgres_too_old`, `postgres_unsafe`,
 * `pooler_without_listen`, `database_read_only`, `database_unreachable` or `database_refused`, or what `migrate` throws.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  await checkServer(url, connectTimeoutMs);
  const pool = createPool({ url, max: options.maxConnections ?? 10, connectTimeoutMs });
  const databaseClock = options.clock ? undefined : createDatabaseClock(pool);
  const clock: Clock = options.clock ?? (databaseClock as Clock);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  const reading = new Kysely<Schema>({ dialect: new ReadingDialect({ pool }) });
  const numberingPool = createPool({ url, max: 1, connectTimeoutMs });
  const numbering = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: numberingPool }) });
  const hub = createWakeHub();
  const endPools = async (): Promise<void> => {
    databaseClock?.stop();
    await Promise.all([pool.end(), numberingPool.end()]);
  };
  const wakeUps = await (databaseClock?.adjust() ?? Promise.resolve())
    .then(() => migrate(db, 'postgres', clock))
    .then(() => startWakeUps(url, pool, hub))
    .catch(async (error: unknown) => {
      await endPools();
      throw toFault(error);
    });
  const sequencer = startSequencer(numbering, () => wakeUps.send([[eventsTopic, '']]));
  sequencer.wake();
  const nesting = createNestingGuard();
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function tx<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    nesting.refuse();
    if (closing) return Promise.reject(new Fault('store_closed', 'The store is closed.'));
    const run = nesting.run(() => withRetries(fn));
    running.add(run);
    void run.catch(() => {}).finally(() => running.delete(run));
    return run;
  }

  async function withRetries<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await inOneTransaction(fn);
      } catch (error) {
        const mayRetry = error instanceof LostAnswer ? error.keyed : isRetryable(error);
        if (mayRetry && attempt < maxRetries) {
          const longest = Math.min(longestBackOffMs, 10 * 2 ** attempt);
          await delay(longest / 2 + (Math.random() * longest) / 2);
          continue;
        }
        throw error instanceof LostAnswer ? commitUnknown(error.cause) : toFault(error);
      }
    }
  }

  async function inOneTransaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const trx = await db.startTransaction().setIsolationLevel('read committed').execute();
    const gathered = gather('postgres', trx, clock.now(), (table, id) => lockRow(trx, table, id));
    let result: T;
    try {
      result = await fn(gathered.tx);
      if (!isRefused(result)) await appendUnsequenced(trx, gathered.events);
    } catch (error) {
      await rollBack(trx);
      throw error;
    }
    if (isRefused(result)) {
      await rollBack(trx);
      return result;
    }
    await commit(trx, gathered.keyed);
    wakeUps.send(gathered.wakes());
    if (gathered.events.length > 0) sequencer.wake();
    return result;
  }

  return {
    dialect: 'postgres',
    clock,
    tx,
    read: nesting.outside(reading),
    onWake: hub.on,
    settled: () => sequencer.settled(),
    close() {
      closing ??= (async () => {
        await Promise.allSettled(running);
        await sequencer.stop();
        await wakeUps.stop();
        hub.close();
        await endPools();
      })();
      return closing;
    },
  };
}

/** COMMIT was sent and no answer came. `keyed`: running the use case again finds its own idempotency record. */
class LostAnswer extends Error {
  readonly keyed: boolean;

  constructor(keyed: boolean, cause: unknown) {
    super('the answer to COMMIT was lost', { cause });
    this.keyed = keyed;
  }
}

async function commit(trx: ControlledTransaction<Schema>, keyed: boolean): Promise<void> {
  try {
    await trx.commit().execute();
  } catch (error) {
    await rollBack(trx);
    throw isConnectionLoss(error) ? new LostAnswer(keyed, error) : error;
  }
}

/** Also gives the connection back; when it is broken there is nothing to roll back. */
async function rollBack(trx: ControlledTransaction<Schema>): Promise<void> {
  await trx
    .rollback()
    .execute()
    .catch(() => {});
}

async function lockRow(trx: Kysely<Schema>, table: string, id: string): Promise<void> {
  await sql`select 1 from ${sql.table(table)} where id = ${id} for update`.execute(trx);
}
