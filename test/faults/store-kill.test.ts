import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';

import { postgresMissing, startPostgres, type TestPostgres } from '../../src/store/testing.ts';
import { openPostgres, openSqlite, type Store, verifyStore } from './store-under-test.ts';

const program = fileURLToPath(new URL('./store-writer.ts', import.meta.url));
const rounds = process.env.CHANTIER_TEST_FULL === '1' ? 40 : 6;

/** A process that writes until it is killed, and what it was told to be saved. */
interface Writer {
  acknowledged: string[];
  /** Resolves when so many more writes than now were acknowledged. */
  more(count: number): Promise<void>;
  kill(): Promise<void>;
}

async function startWriter(location: string, run: string): Promise<Writer> {
  const child: ChildProcess = spawn(process.execPath, [program, location, run], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const acknowledged: string[] = [];
  let onLine = (): void => {};
  const ready = once(lines, 'line');
  lines.on('line', (line) => {
    if (line !== 'ready') acknowledged.push(line);
    onLine();
  });
  await Promise.race([ready, ended.then(() => Promise.reject(new Error('the writer ended by itself')))]);
  return {
    acknowledged,
    more: (count) => {
      const enough = acknowledged.length + count;
      return new Promise((resolve, reject) => {
        onLine = () => acknowledged.length >= enough && resolve();
        void ended.then(() => reject(new Error('the writer ended by itself')));
      });
    },
    async kill() {
      const closed = once(lines, 'close');
      child.kill('SIGKILL');
      await Promise.all([ended, closed]);
    },
  };
}

/** Nothing acknowledged is lost, nothing is half done, and the log is whole. */
async function expectWhole(store: Store, acknowledged: readonly string[]): Promise<void> {
  await store.settled();
  const [settings, events, effects] = await Promise.all([
    store.read.selectFrom('setting').select('key as name').execute(),
    store.read.selectFrom('event').select('subject_id as name').where('subject_kind', '=', 'write').execute(),
    store.read.selectFrom('effect').select('key as name').execute(),
  ]);
  const names = (rows: { name: string }[]): string[] => rows.map((row) => row.name).toSorted();
  const saved = new Set(names(settings));
  expect(acknowledged.filter((name) => !saved.has(name))).toEqual([]);
  expect(names(events)).toEqual(names(settings));
  expect(names(effects)).toEqual(names(settings));
  expect(await verifyStore(store)).toMatchObject({ ok: true });
}

const randomWait = (): Promise<void> => delay(20 + Math.random() * 200);

describe('kill -9 in a write loop loses no acknowledged transaction (ledger case 2)', () => {
  it('on SQLite: the writing process, again and again', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chantier-kill-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const location = join(folder, 'chantier.db');
    const acknowledged: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const writer = await startWriter(location, `r${round}`);
      await writer.more(1);
      await randomWait();
      await writer.kill();
      acknowledged.push(...writer.acknowledged);
      const store = await openSqlite(location);
      await expectWhole(store, acknowledged);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThan(rounds);
  });

  const missing = postgresMissing();
  describe.skipIf(missing !== undefined)(missing ? `on PostgreSQL (did not run: ${missing})` : 'on PostgreSQL', () => {
    const setup = async (): Promise<{ server: TestPostgres; location: string; open: () => Promise<Store> }> => {
      const server = await startPostgres();
      onTestFinished(() => server.stop());
      const location = server.urlOf(await server.createDatabase());
      return { server, location, open: () => openPostgres(location) };
    };

    it('the writing process, again and again', { timeout: 120_000 }, async () => {
      const { location, open } = await setup();
      const acknowledged: string[] = [];
      for (let round = 0; round < rounds; round++) {
        const writer = await startWriter(location, `r${round}`);
        await writer.more(1);
        await randomWait();
        await writer.kill();
        acknowledged.push(...writer.acknowledged);
      }
      const store = await open();
      await expectWhole(store, acknowledged);
      await store.close();
    });

    it('one of the server’s processes, while the writer goes on', { timeout: 120_000 }, async () => {
      const { server, location, open } = await setup();
      const writer = await startWriter(location, 'w');
      for (let round = 0; round < rounds; round++) {
        await writer.more(20);
        await killOneBackend(server.urlOf('postgres'));
      }
      await writer.more(20);
      await writer.kill();
      const store = await open();
      await expectWhole(store, writer.acknowledged);
      await store.close();
    });

    it('the whole server, started again, while the writer goes on', { timeout: 120_000 }, async () => {
      const { server, location, open } = await setup();
      const writer = await startWriter(location, 'w');
      for (let round = 0; round < rounds; round++) {
        await writer.more(20);
        await randomWait();
        await server.kill('SIGKILL');
        await server.start();
      }
      await writer.more(20);
      await writer.kill();
      const store = await open();
      await expectWhole(store, writer.acknowledged);
      await store.close();
    });
  });
});

/** A crashed backend makes the server end all the others and recover. */
async function killOneBackend(url: string): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = 'chantier' order by random() limit 1`,
      );
      if (!rows[0]) continue;
      process.kill(rows[0].pid, 'SIGKILL');
      return;
    } catch {
      await delay(50);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
