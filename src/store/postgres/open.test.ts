import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';

import { ok, systemActor } from '../../kernel/index.ts';
import { verifyStore } from '../export-events.ts';
import { onceForKey } from '../idempotency.ts';
import type { Store } from '../store.ts';
import { openTestPostgres, postgresMissing, startPostgres, testPostgres } from '../testing.ts';
import { startProxy } from '../testing-proxy.ts';
import { checkServerFacts, type ServerFacts } from './check-server.ts';
import { openPostgres } from './open.ts';

const missing = postgresMissing();

async function freshDatabase(): Promise<string> {
  const server = await testPostgres();
  const name = await server.createDatabase();
  onTestFinished(() => server.dropDatabase(name));
  return name;
}

async function open(url: string): Promise<Store> {
  const store = await openPostgres(url);
  onTestFinished(() => store.close());
  return store;
}

async function openThroughProxy(): Promise<{ store: Store; proxy: Awaited<ReturnType<typeof startProxy>> }> {
  const name = await freshDatabase();
  const proxy = await startProxy(await testPostgres());
  onTestFinished(() => proxy.close());
  return { store: await open(proxy.urlOf(name)), proxy };
}

/** A use case with one visible effect; gives who did it. */
const create = (store: Store, runs: string[] = []) =>
  store.tx((tx) =>
    onceForKey<{ id: string }>(tx, { scope: 'op', key: 'k', command: 'create', payload: {} }, async () => {
      const id = await tx.emit({
        kind: 'server.started',
        actor: systemActor('t'),
        subject: { kind: 'server', id: 's' },
      });
      runs.push(id);
      return ok({ id });
    }),
  );

async function eventIds(store: Store): Promise<string[]> {
  await store.settled();
  return (await store.read.selectFrom('event').select('id').orderBy('seq').execute()).map((row) => row.id);
}

describe('what a server must be', () => {
  const sound: ServerFacts = {
    version: 150_018,
    fsync: 'on',
    synchronousCommit: 'on',
    fullPageWrites: 'on',
    readOnly: 'off',
  };

  it('accepts a sound one, with any synchronous_commit but off', () => {
    checkServerFacts(sound);
    checkServerFacts({ ...sound, synchronousCommit: 'local', version: 180_000 });
  });

  it('refuses one older than 15, one that could lose acknowledged work, and a standby', () => {
    expect(() => checkServerFacts({ ...sound, version: 149_999 })).toThrow('14 is too old');
    for (const unsafe of ['fsync', 'synchronousCommit', 'fullPageWrites'] as const)
      expect(() => checkServerFacts({ ...sound, [unsafe]: 'off' })).toThrow('a power cut would lose');
    expect(() => checkServerFacts({ ...sound, readOnly: 'on' })).toThrow('standby');
  });
});

const title = missing ? `openPostgres (did not run: ${missing})` : 'openPostgres';
describe.skipIf(missing !== undefined)(title, () => {
  it('refuses a database with synchronous_commit off, and a server with fsync off', async () => {
    const server = await testPostgres();
    const name = await freshDatabase();
    const client = new Client({ connectionString: server.urlOf(name) });
    await client.connect();
    await client.query(`alter database ${name} set synchronous_commit = off`);
    await client.end();
    const unsafe = { code: 'postgres_unsafe', facts: { setting: 'synchronous_commit' } };
    await expect(openPostgres(server.urlOf(name))).rejects.toMatchObject(unsafe);
    const careless = await startPostgres({ fsync: 'off' });
    onTestFinished(() => careless.stop());
    const url = careless.urlOf(await careless.createDatabase());
    await expect(openPostgres(url)).rejects.toMatchObject({ code: 'postgres_unsafe', facts: { setting: 'fsync' } });
  });

  it('a read while the server is away fails as an outage that may be tried again, and works afterwards (S-51)', async () => {
    const { store, proxy } = await openThroughProxy();
    const read = () => store.read.selectFrom('migration').select('name').execute();
    const before = await read();
    proxy.cut();
    await expect(read()).rejects.toMatchObject({ code: 'database_unreachable', retryable: true });
    await expect(read()).rejects.toMatchObject({ code: 'database_unreachable', retryable: true });
    proxy.restore();
    await expect.poll(() => read().catch(() => undefined)).toEqual(before);
  });

  it('refuses a pooler through which notifications do not arrive', async () => {
    const name = await freshDatabase();
    const proxy = await startProxy(await testPostgres(), { swallowNotifications: true });
    onTestFinished(() => proxy.close());
    const opening = openPostgres(proxy.urlOf(name), { connectTimeoutMs: 300 });
    await expect(opening).rejects.toMatchObject({ code: 'pooler_without_listen' });
  });

  it('says that the server cannot be reached, and that a database is not there', async () => {
    const nowhere = 'postgresql://chantier@/x?host=%2Fnowhere';
    await expect(openPostgres(nowhere)).rejects.toMatchObject({ code: 'database_unreachable', retryable: true });
    const unknown = (await testPostgres()).urlOf('unknown');
    await expect(openPostgres(unknown)).rejects.toMatchObject({ code: 'database_refused', retryable: false });
  });

  it('lets four nodes open an empty database at once', async () => {
    const url = (await testPostgres()).urlOf(await freshDatabase());
    const stores = await Promise.all([open(url), open(url), open(url), open(url)]);
    const names = await stores[0].read.selectFrom('migration').select('name').execute();
    expect(new Set(names.map((row) => row.name)).size).toBe(names.length);
  });

  it('answers by the idempotency record when COMMIT was done and its answer lost', async () => {
    const { store, proxy } = await openThroughProxy();
    const runs: string[] = [];
    const broken = proxy.breakAtCommit('after');
    const answer = await create(store, runs);
    await broken;
    expect(answer).toEqual({ ok: true, value: { value: { id: runs[0] }, replayed: true } });
    expect(await eventIds(store)).toEqual([runs[0]]);
  });

  it('does it anew when COMMIT never reached the server', async () => {
    const { store, proxy } = await openThroughProxy();
    const runs: string[] = [];
    const broken = proxy.breakAtCommit('before');
    const answer = await create(store, runs);
    await broken;
    expect(answer).toEqual({ ok: true, value: { value: { id: runs[1] }, replayed: false } });
    expect(await eventIds(store)).toEqual([runs[1]]);
  });

  it('says that it is unknown whether a use case without a key holds', async () => {
    const { store, proxy } = await openThroughProxy();
    let runs = 0;
    const broken = proxy.breakAtCommit('after');
    const running = store.tx(async (tx) => {
      runs += 1;
      return tx.emit({ kind: 'server.started', actor: systemActor('t'), subject: { kind: 'server', id: 's' } });
    });
    await expect(running).rejects.toMatchObject({ code: 'commit_unknown', retryable: true });
    await broken;
    expect(runs).toBe(1);
    expect(await eventIds(store)).toHaveLength(1);
    expect(await verifyStore(store)).toMatchObject({ ok: true });
  });

  it('leaves the number parsing of other users of pg alone', async () => {
    const { store, location } = await openTestPostgres();
    await store.tx(async (tx) => tx.db.selectFrom('event').selectAll().execute());
    const client = new Client({ connectionString: location });
    await client.connect();
    const { rows } = await client.query('select 7::bigint as n');
    await client.end();
    expect(rows).toEqual([{ n: '7' }]);
  });

  it('goes by the clock of the database unless it is given one', async () => {
    const store = await open((await testPostgres()).urlOf(await freshDatabase()));
    const { at, now } = await store.tx(async (tx) => {
      const row = await tx.db
        .selectNoFrom((eb) => eb.fn<number>('date_part', [eb.val('epoch'), eb.fn('clock_timestamp')]).as('at'))
        .executeTakeFirstOrThrow();
      return { at: row.at * 1000, now: tx.now };
    });
    expect(Math.abs(at - now)).toBeLessThan(2000);
  });
});
