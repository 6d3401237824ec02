import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

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
    createAdapter: () => new UnlockedAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => nodeSqliteDriver(database),
  };
}

/**
 * Each statement runs to its end where it is called, and transactions take turns in `open.ts`: Kysely's own lock, at which all
 * that wait wake each time one is served, would only cost (a third of an idle server with a hundred sessions).
 */
class UnlockedAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
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

/** A statement with whether it gives rows: asking it each time costs more than running it. */
interface Prepared {
  statement: StatementSync;
  givesRows: boolean;
}

function nodeSqliteConnection(database: DatabaseSync): DatabaseConnection {
  const known = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const found = known.get(sql);
    if (found) return found;
    const statement = database.prepare(sql);
    const oldest = known.size >= maxPrepared ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    const prepared = { statement, givesRows: statement.columns().length > 0 };
    known.set(sql, prepared);
    return prepared;
  };
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const { statement, givesRows } = prepare(query.sql);
      const parameters = query.parameters as SQLInputValue[];
      if (givesRows) return { rows: statement.all(...parameters) as R[] };
      const { changes, lastInsertRowid } = statement.run(...parameters);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    },
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      const { statement } = prepare(query.sql);
      for (const row of statement.iterate(...(query.parameters as SQLInputValue[]))) yield { rows: [row as R] };
    },
  };
}
