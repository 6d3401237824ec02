import { type Kysely, sql } from 'kysely';

import { type Clock, Fault } from '../kernel/index.ts';
import { type Migration, migrations, run, type StoreDialect } from './migrations/index.ts';
import type { Schema } from './schema/index.ts';

/** How `migrate` is told about the database. */
export interface MigrateOptions {
  /** Default: all that this version knows. */
  list?: readonly Migration[];
  /** Called before the first migration of a database that has had some: the time for a backup. */
  before?: (migration: Migration) => void;
}

/** Any number that nothing else locks. */
const migrationLock = 4747;

/**
 * Brings the schema up to date, each migration in a transaction of its own; gives the names of those applied now. Throws
 * `Fault` `database_newer` when the database has a breaking migration that this version does not know (design section 5).
 */
export async function migrate(
  db: Kysely<Schema>,
  dialect: StoreDialect,
  clock: Clock,
  options: MigrateOptions = {},
): Promise<string[]> {
  const list = options.list ?? migrations;
  await makeTable(db, dialect);
  const done = await readApplied(db, list);
  const missing = list.filter((migration) => !done.has(migration.name));
  if (missing[0] && done.size > 0) options.before?.(missing[0]);
  const names: string[] = [];
  for (const migration of missing) {
    if (await applyOnce(db, dialect, clock, migration)) names.push(migration.name);
  }
  return names;
}

async function makeTable(db: Kysely<Schema>, dialect: StoreDialect): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockMigrations(trx, dialect);
    await run(trx as unknown as Kysely<never>, dialect, [
      'CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, breaking SMALLINT NOT NULL, applied_at BIGINT NOT NULL)',
    ]);
  });
}

async function readApplied(db: Kysely<Schema>, list: readonly Migration[]): Promise<Set<string>> {
  const applied = await db.selectFrom('migration').selectAll().orderBy('name').execute();
  const known = new Set(list.map((migration) => migration.name));
  const newer = applied.find((row) => row.breaking === 1 && !known.has(row.name));
  if (!newer) return new Set(applied.map((row) => row.name));
  throw new Fault(
    'database_newer',
    `The database was changed by a newer Chantier (${newer.name}); this version cannot open it. Install the newer version, or restore a backup from before.`,
    { facts: { migration: newer.name } },
  );
}

async function applyOnce(
  db: Kysely<Schema>,
  dialect: StoreDialect,
  clock: Clock,
  migration: Migration,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await lockMigrations(trx, dialect);
    const raced = await trx
      .selectFrom('migration')
      .select('name')
      .where('name', '=', migration.name)
      .executeTakeFirst();
    if (raced) return false;
    await migration.up(trx as unknown as Kysely<never>, dialect);
    await trx
      .insertInto('migration')
      .values({ name: migration.name, breaking: migration.breaking ? 1 : 0, applied_at: clock.now() })
      .execute();
    return true;
  });
}

/** One node at a time; SQLite's own transaction does that already. */
async function lockMigrations(db: Kysely<Schema>, dialect: StoreDialect): Promise<void> {
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(db);
}
