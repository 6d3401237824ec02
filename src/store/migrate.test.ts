import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { Kysely, PostgresDialect, sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';

import { manualClock } from '../kernel/index.ts';
import { migrate } from './migrate.ts';
import { type Migration, migrations, run, type StoreDialect } from './migrations/index.ts';
import { createPool } from './postgres/pool.ts';
import type { Schema } from './schema/index.ts';
import { nodeSqliteDialect } from './sqlite/dialect.ts';
import { openSqlite } from './sqlite/open.ts';
import { eachStore } from './testing.ts';
import { readSpendingOfSessions } from '../spending/index.ts';
import { sessionWorld } from '../sessions/testing.ts';

const clock = manualClock();

const adding: Migration = {
  name: '9001-adding',
  breaking: false,
  up: (db, dialect) => run(db, dialect, ['CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT NOT NULL)']),
};
const failing: Migration = {
  name: '9002-failing',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, ['CREATE TABLE half (id TEXT PRIMARY KEY)', 'CREATE TABLE half (id TEXT PRIMARY KEY)']);
  },
};

/** The database of a test store, without the store. */
function rawDatabase(dialect: StoreDialect, location: string): Kysely<Schema> {
  if (dialect === 'postgres') {
    const db = new Kysely<Schema>({
      dialect: new PostgresDialect({ pool: createPool({ url: location, max: 4, connectTimeoutMs: 5000 }) }),
    });
    onTestFinished(() => db.destroy());
    return db;
  }
  const database = new DatabaseSync(location);
  onTestFinished(() => database.close());
  return new Kysely<Schema>({ dialect: nodeSqliteDialect(database) });
}

eachStore((dialect, open) => {
  const setup = async () => {
    const { store, location, reopen } = await open();
    await store.close();
    return { db: rawDatabase(dialect, location), location, reopen };
  };
  const hasTable = (db: Kysely<Schema>, table: string): Promise<boolean> =>
    sql`select 1 from ${sql.table(table)}`.execute(db).then(
      () => true,
      () => false,
    );

  it('applies each migration once, in the order of the names', async () => {
    const { db } = await setup();
    const names = migrations.map((migration) => migration.name);
    expect(names).toEqual(names.toSorted());
    const applied = await db.selectFrom('migration').select('name').orderBy('name').execute();
    expect(applied.map((row) => row.name)).toEqual(names);
    expect(await migrate(db, dialect, clock)).toEqual([]);
    expect(await migrate(db, dialect, clock, { list: [...migrations, adding] })).toEqual(['9001-adding']);
    expect(await migrate(db, dialect, clock, { list: [...migrations, adding] })).toEqual([]);
    expect(await hasTable(db, 'thing')).toBe(true);
  });

  it('leaves nothing of a migration that fails, and all of those before it', async () => {
    const { db } = await setup();
    await expect(migrate(db, dialect, clock, { list: [...migrations, adding, failing] })).rejects.toThrow('half');
    expect(await hasTable(db, 'thing')).toBe(true);
    expect(await hasTable(db, 'half')).toBe(false);
    const applied = await db.selectFrom('migration').select('name').orderBy('name', 'desc').executeTakeFirst();
    expect(applied?.name).toBe('9001-adding');
  });

  it('refuses a database that a newer version changed in a way this one cannot know, and opens it otherwise', async () => {
    const { db, reopen } = await setup();
    await migrate(db, dialect, clock, { list: [...migrations, adding] });
    await (await reopen()).close();
    await migrate(db, dialect, clock, {
      list: [...migrations, adding, { ...adding, name: '9003-breaking', breaking: true, up: async () => {} }],
    });
    await expect(reopen()).rejects.toMatchObject({ code: 'database_newer', facts: { migration: '9003-breaking' } });
  });

  it('what a session used is in one place after 0017, with nothing lost and nothing counted twice (sessions decision 7)', async () => {
    const { store, location } = await open();
    const world = sessionWorld(store);
    const [counted, both, entries] = [
      await world.running('PD-1'),
      await world.running('PD-2'),
      await world.running('PD-3'),
    ];
    await store.close();
    const db = rawDatabase(dialect, location);
    // The database as the version before had it: totals of which the first never had entries, and the second only in part.
    await db.deleteFrom('migration').where('name', '=', '0017-one-bill').execute();
    const old = ['input_tokens', 'output_tokens', 'cached_tokens', 'cost_micros'];
    await sql`alter table session_context rename to session_usage`.execute(db);
    await run(
      db as never,
      dialect,
      old.map((column) => `ALTER TABLE session_usage ADD COLUMN ${column} BIGINT NOT NULL DEFAULT 0`),
    );
    const at = Date.UTC(2026, 1, 3, 23, 59);
    const total = (id: string, input: number, micros: number) =>
      sql`insert into session_usage (session_id, input_tokens, output_tokens, cached_tokens, cost_micros, context_used, context_size, updated_at)
        values (${id}, ${input}, 7, 3, ${micros}, 40, 200, ${at})`.execute(db);
    const entry = (id: string, input: number, micros: number) =>
      sql`insert into usage_entry (session_id, generation, turn_id, day, agent, kind, input_tokens, output_tokens, cached_tokens, cost_micros, cost_source, created_at, updated_at)
        values (${id}, 1, 't', '2026-02-04', 'turing', 'author:brief', ${input}, 7, 3, ${micros}, 'priced', ${at}, ${at})`.execute(
        db,
      );
    await total(counted.sessionId, 100, 5_000);
    await total(both.sessionId, 300, 9_000);
    await entry(both.sessionId, 120, 9_000);
    await total(entries.sessionId, 50, 1);
    await entry(entries.sessionId, 80, 2);
    expect(await migrate(db, dialect, clock)).toEqual(['0017-one-bill']);
    const sums = await readSpendingOfSessions(db, [counted.sessionId, both.sessionId, entries.sessionId]);
    expect(sums.get(counted.sessionId)).toMatchObject({ input: 100, output: 7, cached: 3, micros: 5_000 });
    expect(sums.get(both.sessionId)).toMatchObject({ input: 300, output: 7, cached: 3, micros: 9_000 });
    expect(sums.get(entries.sessionId)).toMatchObject({ input: 80, output: 7, cached: 3, micros: 2 });
    const moved = await db.selectFrom('usage_entry').selectAll().where('turn_id', '=', 'before-entries').execute();
    expect(moved.map(({ day, agent }) => [day, agent])).toEqual([
      ['2026-02-03', 'turing'],
      ['2026-02-03', 'turing'],
    ]);
    expect(await db.selectFrom('session_context').select(['context_used', 'context_size']).execute()).toEqual(
      Array.from({ length: 3 }, () => ({ context_used: 40, context_size: 200 })),
    );
  });

  if (dialect === 'sqlite')
    it('writes a backup before the first new migration of an embedded store, and none for a new one', async () => {
      const { db, location } = await setup();
      const backups = join(dirname(location), 'backups');
      expect(() => readdirSync(backups)).toThrow();
      await db
        .deleteFrom('migration')
        .where('name', '=', (migrations.at(-1) as Migration).name)
        .execute();
      await expect(openSqlite(location, { clock })).rejects.toThrow();
      const [name] = readdirSync(backups);
      const copy = new DatabaseSync(join(backups, name as string), { readOnly: true });
      onTestFinished(() => copy.close());
      expect(copy.prepare('select count(*) as n from migration').get()).toEqual({ n: migrations.length - 1 });
    });
});
