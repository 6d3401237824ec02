import { chmodSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
import { backUpBefore } from './backup.ts';
import { checkIntegrity } from './check-integrity.ts';
import { nodeSqliteDialect } from './dialect.ts';
import { toFault } from './faults.ts';
import { assertLocalDisk, realFolder } from './file-system.ts';

/** The first SQLite without the WAL-reset bug (design section 2). */
const oldestSqlite = '3.51.3';

/** How an embedded store is opened. */
export interface SqliteOptions {
  /** Default: the system's. */
  clock?: Clock;
  /** Folder for the copy made before migrations; default `backups` beside the file. */
  backups?: string;
  /** Told what is wrong with the file when it was not closed in order and has suffered. Default: a warning of the process. */
  onDamage?: (fault: Fault) => void;
}

/**
 * Opens (and creates, and migrates) an embedded store in `file`: WAL, `synchronous=FULL`, foreign keys on, one writing
 * connection behind a mutex and one reading connection. Throws `Fault` `sqlite_too_old`, `not_local_disk`,
 * `database_read_only`, `database_damaged`, `disk_full`, or what `migrate` throws.
 */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<Store> {
  const clock = options.clock ?? systemClock;
  assertLocalDisk(realFolder(dirname(file)));
  const wasUnclean = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const { writer, reader, db } = await openConnections(file, clock, options.backups ?? join(dirname(file), 'backups'));
  if (wasUnclean) void reportDamage(file, options.onDamage);
  const hub = createWakeHub();
  const nesting = createNestingGuard();
  const read = nesting.outside(new Kysely<Schema>({ dialect: nodeSqliteDialect(reader) }));
  const takeTurn = createMutex();
  let closed = false;
  let closing: Promise<void> | undefined;

  async function tx<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    nesting.refuse();
    if (closed) throw new Fault('store_closed', 'The store is closed.');
    return takeTurn(() => nesting.run(() => inOneTransaction(fn)));
  }

  async function inOneTransaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const gathered = gather('sqlite', db, clock.now(), async () => {});
    let turnOver = false;
    const turn = setImmediate(() => (turnOver = true));
    begin(writer, file);
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
      throw toFault(error, file);
    } finally {
      clearImmediate(turn);
    }
    if (isRefused(result)) {
      rollBack(writer);
      return result;
    }
    commit(writer, file);
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
    close() {
      closing ??= takeTurn(async () => {
        closed = true;
        hub.close();
        reader.close();
        writer.close();
      });
      return closing;
    },
  };
}

async function openConnections(
  file: string,
  clock: Clock,
  backups: string,
): Promise<{ writer: DatabaseSync; reader: DatabaseSync; db: Kysely<Schema> }> {
  let writer: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(file, { timeout: 5000 });
    writer = opened;
    assertVersion(opened);
    chmodSync(file, 0o600);
    setUp(opened);
    const db = new Kysely<Schema>({ dialect: nodeSqliteDialect(opened) });
    await migrate(db, 'sqlite', clock, {
      before: (migration) => void backUpBefore(opened, backups, migration.name, clock.now()),
    });
    const reader = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    return { writer: opened, reader, db };
  } catch (error) {
    writer?.close();
    throw toFault(error, file);
  }
}

function setUp(database: DatabaseSync): void {
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864',
  );
  const read = (name: string): unknown => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (read('journal_mode') !== 'wal' || read('synchronous') !== 2 || read('foreign_keys') !== 1)
    throw new Fault('sqlite_unsafe', 'SQLite does not write ahead and in full here; use a local disk.');
}

function assertVersion(database: DatabaseSync): void {
  const { version } = database.prepare('select sqlite_version() as version').get() as { version: string };
  const number = (text: string): number => text.split('.').reduce((sum, part) => sum * 1000 + Number(part), 0);
  if (number(version) >= number(oldestSqlite)) return;
  throw new Fault(
    'sqlite_too_old',
    `SQLite ${version} has a bug that can lose data; at least ${oldestSqlite} is needed. Use the Node version that the package brings.`,
  );
}

/** Beside the running store: the ready path must not wait for it. */
async function reportDamage(file: string, onDamage: SqliteOptions['onDamage']): Promise<void> {
  const wrong = await checkIntegrity(file).catch(() => []);
  if (wrong.length === 0) return;
  const fault = new Fault(
    'database_damaged',
    `${file} is damaged (${wrong[0]}): stop and restore the latest backup (chantier restore).`,
    { facts: { count: wrong.length } },
  );
  if (onDamage) onDamage(fault);
  else process.emitWarning(fault);
}

function begin(database: DatabaseSync, file: string): void {
  try {
    database.exec('BEGIN IMMEDIATE');
  } catch (error) {
    throw toFault(error, file);
  }
}

function commit(database: DatabaseSync, file: string): void {
  try {
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw toFault(error, file);
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
