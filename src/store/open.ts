import { mkdirSync } from 'node:fs';

import type { Clock } from '../kernel/index.ts';
import { openPostgres } from './postgres/open.ts';
import { toFault } from './sqlite/faults.ts';
import { openSqlite, type SqliteOptions } from './sqlite/open.ts';
import type { Store } from './store.ts';

/** Where the store of an instance is: the paths of its home (`pathsOf`), or the URL of a PostgreSQL database. */
export type StoreLocation = { home: { home: string; database: string; backups: string } } | { url: string };

/**
 * Opens the store of an instance: embedded in its home (made with mode 0700), or PostgreSQL. Throws what `openSqlite` and
 * `openPostgres` throw.
 */
export async function openStore(
  location: StoreLocation,
  options: { clock?: Clock } & Pick<SqliteOptions, 'onDamage'> = {},
): Promise<Store> {
  if ('url' in location) return openPostgres(location.url, options);
  const { home, database, backups } = location.home;
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toFault(error, home);
  }
  return openSqlite(database, { ...options, backups });
}
