import { type CustomTypesConfig, Pool, types } from 'pg';

import { Fault } from '../../kernel/index.ts';

/** How every connection of a store is set up. */
export interface PoolOptions {
  url: string;
  /** Most connections at once. */
  max: number;
  /** How long to wait for a free or a new connection. */
  connectTimeoutMs: number;
}

/**
 * A pool whose connections are in UTC, give `bigint` as a checked number, and end a transaction that is left open for a
 * minute (a frozen process must not hold locks for ever). A lost connection is noticed at its next use.
 */
export function createPool(options: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: options.url,
    max: options.max,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    application_name: 'chantier',
    keepAlive: true,
    types: checkedTypes,
    onConnect: async (client) => {
      client.on('error', () => {});
      await client.query(sessionSettings);
    },
  });
  pool.on('error', () => {});
  return pool;
}

/** What each connection sets first; also on the listening connection. */
export const sessionSettings =
  "set time zone 'UTC'; set idle_in_transaction_session_timeout = '60s'; set default_transaction_isolation = 'read committed'";

const int8 = 20;
const numeric = 1700;

/** Numbers as JavaScript numbers, for our connections only: the parsers of `pg` itself stay as they are. */
export const checkedTypes: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric
      ? checkedNumber
      : types.getTypeParser(oid, format)) as CustomTypesConfig['getTypeParser'],
};

function checkedNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) ? Number.isSafeInteger(value) : !/^-?\d+$/.test(text)) return value;
  throw new Fault('number_too_large', `The database holds ${text}, more than a number can say exactly.`);
}
