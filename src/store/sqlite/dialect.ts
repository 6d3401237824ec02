import type { DatabaseSync, StatementSync } from 'node:sqlite';

import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

/** A Kysely dialect over one open `node:sqlite` connection, which stays the caller's to close. */
export function nodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => nodeSqliteDriver(database),
  };
}

function nodeSqliteDriver(database: DatabaseSync): Driver {
  const connection = nodeSqliteConnection(database);
  const command = (sql: string) => async (): Promise<void> => {
    await connection.executeQuery(CompiledQuery.raw(sql));
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: command('BEGIN IMMEDIATE'),
    commitTransaction: command('COMMIT'),
    rollbackTransaction: command('ROLLBACK'),
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}

/** Statements are prepared once; more than this many different texts and the oldest are forgotten. */
const maxPrepared = 500;

function nodeSqliteConnection(database: DatabaseSync): DatabaseConnection {
  const prepared = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = prepared.get(sql);
    if (known) return known;
    const statement = database.prepare(sql);
    const oldest = prepared.size >= maxPrepared ? prepared.keys().next().value : undefined;
    if (oldest !== undefined) prepared.delete(oldest);
    prepared.set(sql, statement);
    return statement;
  };
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const statement = prepare(query.sql);
      const parameters = query.parameters as (null | number | bigint | string | Uint8Array)[];
      if (statement.columns().length > 0) return { rows: statement.all(...parameters) as R[] };
      const { changes, lastInsertRowid } = statement.run(...parameters);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    },
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      const statement = prepare(query.sql);
      for (const row of statement.iterate(...(query.parameters as (null | number | string)[])))
        yield { rows: [row as R] };
    },
  };
}
