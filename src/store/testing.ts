import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, onTestFinished } from 'vitest';

import { type ManualClock, manualClock } from '../kernel/index.ts';
import type { StoreDialect } from './migrations/index.ts';
import { openPostgres } from './postgres/open.ts';
import { openSqlite } from './sqlite/open.ts';
import type { Store } from './store.ts';
import { postgresMissing, startPostgres, type TestPostgres } from './testing-postgres.ts';

export { postgresMissing, startPostgres, type TestPostgres } from './testing-postgres.ts';

/** A fresh, migrated store of one test; closed and removed when the test ends. */
export interface TestStore {
  store: Store;
  /** The store's clock; stands at 2026-01-01T00:00:00Z until moved. */
  clock: ManualClock;
  /** The database file (SQLite) or the connection URL (PostgreSQL). */
  location: string;
  /** Opens the same database once more, as a restarted server or another node does. */
  reopen(): Promise<Store>;
}

/**
 * Registers `tests` once for each database: `eachStore((dialect, open) => { it('…', async () => { const { store } = await
 * open() … }) })`. `open` may be called in a test or a `beforeEach`, as often as wanted; each call gives another
 * database. Where PostgreSQL is missing its part is skipped and its title says why.
 */
export function eachStore(tests: (dialect: StoreDialect, open: () => Promise<TestStore>) => void): void {
  describe('on sqlite', () => tests('sqlite', openTestSqlite));
  const missing = postgresMissing();
  const title = missing ? `on postgres (did not run: ${missing})` : 'on postgres';
  describe.skipIf(missing !== undefined)(title, () => tests('postgres', openTestPostgres));
}

/** A fresh SQLite store for the running test. */
export async function openTestSqlite(): Promise<TestStore> {
  const folder = temporaryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const location = join(folder, 'chantier.db');
  writeFileSync(location, await sqliteTemplate());
  return testStore(location, (clock) => openSqlite(location, { clock }));
}

/** A fresh PostgreSQL store for the running test, on the server of this test process. */
export async function openTestPostgres(): Promise<TestStore> {
  const { server, template } = await postgresTemplate();
  const name = await server.createDatabase(template);
  onTestFinished(() => server.dropDatabase(name));
  const location = server.urlOf(name);
  return testStore(location, (clock) => openPostgres(location, { clock, maxConnections: 8 }));
}

/** The PostgreSQL server of this test process; started at the first call. Databases made on it are the caller's to drop. */
export async function testPostgres(): Promise<TestPostgres> {
  return (await postgresTemplate()).server;
}

async function testStore(location: string, open: (clock: ManualClock) => Promise<Store>): Promise<TestStore> {
  const clock = manualClock();
  const reopen = async (): Promise<Store> => {
    const store = await open(clock);
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await reopen(), clock, location, reopen };
}

/** Made once for a test process, even where every test file gets modules of its own. */
interface Made {
  sqlite?: Promise<Uint8Array>;
  postgres?: Promise<{ server: TestPostgres; template: string }>;
}
const madeKey = Symbol.for('chantier.store.testing');
const holder = globalThis as { [madeKey]?: Made };

function made(): Made {
  return (holder[madeKey] ??= {});
}

/** The bytes of a migrated, empty database: kept in memory, so that nothing is left if the process is killed. */
function sqliteTemplate(): Promise<Uint8Array> {
  made().sqlite ??= (async () => {
    const folder = temporaryFolder();
    try {
      const file = join(folder, 'template.db');
      const store = await openSqlite(file, { clock: manualClock() });
      await store.close();
      return readFileSync(file);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  })();
  return made().sqlite as Promise<Uint8Array>;
}

function postgresTemplate(): Promise<{ server: TestPostgres; template: string }> {
  made().postgres ??= (async () => {
    const server = await startPostgres();
    const template = await server.createDatabase();
    const store = await openPostgres(server.urlOf(template), { clock: manualClock() });
    await store.close();
    return { server, template };
  })();
  return made().postgres as Promise<{ server: TestPostgres; template: string }>;
}

/** In memory where that is possible: these files need no disk, and each commit waits for one. */
function temporaryFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'chantier-test-'));
}
