import { type DatabaseConnection, type Driver, PostgresDialect, PostgresDriver } from 'kysely';

import { toFault } from './faults.ts';

/**
 * The dialect behind `store.read`: a query that fails because of the world throws the same `Fault` as a transaction does, so
 * that a database which is away is an outage for those above and not a bug.
 */
export class ReadingDialect extends PostgresDialect {
  readonly #config: ConstructorParameters<typeof PostgresDialect>[0];

  constructor(config: ConstructorParameters<typeof PostgresDialect>[0]) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new ReadingDriver(this.#config);
  }
}

class ReadingDriver extends PostgresDriver {
  readonly #known = new WeakSet<DatabaseConnection>();

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection().catch((error: unknown) => {
      throw toFault(error);
    });
    if (this.#known.has(connection)) return connection;
    this.#known.add(connection);
    const execute = connection.executeQuery.bind(connection);
    connection.executeQuery = async (query) =>
      execute(query).catch((error: unknown) => {
        throw toFault(error);
      }) as never;
    return connection;
  }
}
