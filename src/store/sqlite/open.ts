import { DatabaseSync } from 'node:sqlite';

import { Kysely } from 'kysely';

import { type Clock, Fault, isRefused, systemClock } from '../../kernel/index.ts';
import { appendSequenced } from '../events.ts';
import { gather } from '../gather.ts';
import { migrate } from '../migrate.ts';
import { createNestingGuard } from '../nesting.ts';
import type { Schema } from '../schema/index.ts';
import { eventsTopic, type Store, type Tx } from '../store.ts';
import { createWakeHub } from '../wake.ts';
import { nodeSqliteDialect } from './dialect.ts';

/** The first SQLite without the WAL-reset bug (design section 2). */
const oldestSqlite = '3.51.3';

/**
 * Opens (and creates, and migrates) an embedded store in `file`: WAL, `synchronous=FULL`, foreign keys on, one writing
 * connection behind a mutex and one reading connection. Throws `Fault` `sqlite_too_old`, or what `migrate` throws.
 */
export async function openSqlite(file: string, options: { clock?: Clock } = {}): Promise<Store> {
  const clock = options.clock ?? systemClock;
  const writer = new DatabaseSync(file, { timeout: 5000 });
  assertVersion(writer);
  writer.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF',
  );
  const db = new Kysely<Schema>({ dialect: nodeSqliteDialect(writer) });
  try {
    await migrate(db, 'sqlite', clock);
  } catch (error) {
    writer.close();
    throw error;
  }
  const reader = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  const read = new Kysely<Schema>({ dialect: nodeSqliteDialect(reader) });
  const hub = createWakeHub();
  const nesting = createNestingGuard();
  const takeTurn = createMutex();
  let closed = false;

  async function tx<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    nesting.refuse();
    if (closed) throw new Fault('store_closed', 'The store is closed.');
    return takeTurn(() => nesting.run(() => inOneTransaction(fn)));
  }

  async function inOneTransaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const gathered = gather('sqlite', db, clock.now(), async () => {});
    let turnOver = false;
    const turn = setImmediate(() => (turnOver = true));
    writer.exec('BEGIN IMMEDIATE');
    let result: T;
    try {
      result = await fn(gathered.tx);
      if (!isRefused(result)) await appendSequenced(db, gathered.events);
      if (turnOver)
        throw new Error(
          'a transaction waited for something other than the database; do I/O after commit, by an effect',
        );
    } catch (error) {
      rollBack(writer);
      throw error;
    } finally {
      clearImmediate(turn);
    }
    if (isRefused(result)) {
      rollBack(writer);
      return result;
    }
    commit(writer);
    for (const [topic, subject] of gathered.wakes()) hub.fire(topic, subject);
    if (gathered.events.length > 0) hub.fire(eventsTopic, '');
    return result;
  }

  return {
    dialect: 'sqlite',
    clock,
    tx,
    read,
    onWake: hub.on,
    settled: async () => {},
    async close() {
      if (closed) return;
      await takeTurn(async () => {
        closed = true;
        reader.close();
        writer.close();
      });
    },
  };
}

function assertVersion(database: DatabaseSync): void {
  const { version } = database.prepare('select sqlite_version() as version').get() as { version: string };
  const number = (text: string): number => text.split('.').reduce((sum, part) => sum * 1000 + Number(part), 0);
  if (number(version) >= number(oldestSqlite)) return;
  database.close();
  throw new Fault(
    'sqlite_too_old',
    `SQLite ${version} has a bug that can lose data; at least ${oldestSqlite} is needed. Use the Node version that the package brings.`,
  );
}

function commit(database: DatabaseSync): void {
  try {
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw new Fault('commit_failed', `The store could not save: ${(error as Error).message}. Nothing was changed.`, {
      cause: error,
      retryable: true,
    });
  }
}

function rollBack(database: DatabaseSync): void {
  if (database.isTransaction) database.exec('ROLLBACK');
}

/** Runs the given functions one after another, in the order of the calls. */
function createMutex(): <T>(fn: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (fn) => {
    const turn = last.then(fn, fn);
    last = turn.catch(() => {});
    return turn;
  };
}
