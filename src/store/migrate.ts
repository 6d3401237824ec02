import { type Kysely, sql } from 'kysely';

import { type Clock, Fault } from '../kernel/index.ts';
import { type Migration, migrations, run, type StoreDialect } from './migrations/index.ts';
import type { Schema } from './schema/index.ts';

/**
 * Brings the schema up to date, each migration in a transaction of its own; gives the names of those applied now. Throws
 * `Fault` `database_newer` when the database has a breaking migration that this version does not know (design section 5).
 */
export async function migrate(
  db: Kysely<Schema>,
  dialect: StoreDialect,
  clock: Clock,
  list: readonly Migration[] = migrations,
): Promise<string[]> {
  await run(db as unknown as Kysely<never>, dialect, [
    'CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, breaking SMALLINT NOT NULL, applied_at BIGINT NOT NULL)',
  ]);
  const applied = await db.selectFrom('migration').selectAll().orderBy('name').execute();
  const known = new Set(list.map((migration) => migration.name));
  const newer = applied.find((row) => row.breaking === 1 && !known.has(row.name));
  if (newer) {
    throw new Fault(
      'database_newer',
      `The database was changed by a newer Chantier (${newer.name}); this version cannot open it. Install the newer version, or restore a backup from before.`,
      { facts: { migration: newer.name } },
    );
  }
  const done = new Set(applied.map((row) => row.name));
  const names: string[] = [];
  for (const migration of list) {
    if (done.has(migration.name)) continue;
    await db.transaction().execute(async (trx) => {
      if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(4747)`.execute(trx);
      const raced = await trx
        .selectFrom('migration')
        .select('name')
        .where('name', '=', migration.name)
        .executeTakeFirst();
      if (raced) return;
      await migration.up(trx as unknown as Kysely<never>, dialect);
      await trx
        .insertInto('migration')
        .values({ name: migration.name, breaking: migration.breaking ? 1 : 0, applied_at: clock.now() })
        .execute();
      names.push(migration.name);
    });
  }
  return names;
}
