import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';

import { type Fault, manualClock, systemActor } from '../../kernel/index.ts';
import { verifyStore } from '../export-events.ts';
import { openStore } from '../open.ts';
import { readEvents } from '../read-events.ts';
import type { Store } from '../store.ts';
import { openTestSqlite } from '../testing.ts';
import { backUpBefore, backUpDatabase } from './backup.ts';
import { checkIntegrity } from './check-integrity.ts';
import { toFault } from './faults.ts';
import { assertLocalDisk, fileSystemOf } from './file-system.ts';
import { openSqlite } from './open.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'chantier-sqlite-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const emit = (store: Store): Promise<string> =>
  store.tx((tx) => tx.emit({ kind: 'server.started', actor: systemActor('t'), subject: { kind: 'server', id: 's' } }));

describe('an embedded store', () => {
  it('writes ahead and in full, with foreign keys, in a file that only its owner reads', async () => {
    const { store, location } = await openTestSqlite();
    await emit(store);
    expect(statSync(location).mode & 0o777).toBe(0o600);
    const other = new DatabaseSync(location, { readOnly: true });
    onTestFinished(() => other.close());
    expect(other.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  it('is opened in a home that is made for it, with mode 0700', async () => {
    const home = join(folder(), 'deep', 'home');
    const store = await openStore({
      home: { home, database: join(home, 'chantier.db'), backups: join(home, 'backups') },
    });
    onTestFinished(() => store.close());
    await emit(store);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  it('refuses a disk that is not local, and says which', () => {
    const mounts = [
      '22 1 8:1 / / rw - ext4 /dev/root rw',
      '30 22 0:50 / /mnt/team rw - nfs4 server:/export rw',
      '31 30 8:2 / /mnt/team/local rw - xfs /dev/sdb rw',
      String.raw`32 22 0:51 / /mnt/my\040share rw - fuse.sshfs host: rw`,
      '33 22 0:60 / /data rw - ext4 /dev/sdc rw',
      '34 22 0:61 / /data rw - cifs //nas/x rw',
    ].join('\n');
    expect(fileSystemOf('/home/me', mounts)).toBe('ext4');
    expect(fileSystemOf('/mnt/team/local/x', mounts)).toBe('xfs');
    expect(fileSystemOf('/mnt/teamwork', mounts)).toBe('ext4');
    assertLocalDisk('/mnt/team/local', mounts);
    for (const shared of ['/mnt/team', '/mnt/my share/x', '/data/y'])
      expect(() => assertLocalDisk(shared, mounts), shared).toThrow('use PostgreSQL');
  });

  it('refuses a file that is no database', async () => {
    const file = join(folder(), 'chantier.db');
    writeFileSync(file, 'this is not a database, whatever its name says. '.repeat(100));
    await expect(openSqlite(file)).rejects.toMatchObject({ name: 'Fault', code: 'database_damaged' });
  });

  it('turns a full disk into a fault, changes nothing and works on when there is room again', async () => {
    const { store } = await openTestSqlite();
    await emit(store);
    const limit = (pages: number) =>
      store.tx(async (tx) => void (await sql.raw(`PRAGMA max_page_count = ${pages}`).execute(tx.db)));
    await limit(1);
    const fill = store.tx(async (tx) => {
      for (let index = 0; index < 50; index++)
        await tx.db
          .insertInto('setting')
          .values({ key: `k${index}`, value: 'x'.repeat(100_000), updated_by: 'x', updated_at: 1 })
          .execute();
    });
    await expect(fill).rejects.toMatchObject({ code: 'disk_full', retryable: true });
    await limit(1_000_000);
    await emit(store);
    expect(await store.read.selectFrom('setting').selectAll().execute()).toEqual([]);
    expect(await readEvents(store)).toHaveLength(2);
  });

  it('says that a home cannot be written', () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    expect(toFault(denied, '/home/x')).toMatchObject({ code: 'database_read_only' });
    const readOnly = Object.assign(new Error('attempt to write a readonly database'), {
      code: 'ERR_SQLITE_ERROR',
      errcode: 1032,
    });
    expect(toFault(readOnly, '/home/x')).toMatchObject({ code: 'database_read_only' });
    const bug = new TypeError('x');
    expect(toFault(bug, '/home/x')).toBe(bug);
  });

  it('checks the file after an unclean stop, beside the running store, and tells what is wrong', async () => {
    const { store, location } = await openTestSqlite();
    for (let index = 0; index < 200; index++) await emit(store);
    await store.close();
    expect(existsSync(`${location}-wal`)).toBe(false);
    expect(await checkIntegrity(location)).toEqual([]);
    damage(location);
    expect((await checkIntegrity(location)).length).toBeGreaterThan(0);
    writeFileSync(`${location}-wal`, 'left behind');
    const fault = await new Promise<Fault>((resolve, reject) => {
      openSqlite(location, { onDamage: resolve }).then((reopened) => onTestFinished(() => reopened.close()), reject);
    });
    expect(fault).toMatchObject({ code: 'database_damaged' });
  });

  it('is copied while it is written to, and the copy is whole', async () => {
    const { store, location } = await openTestSqlite();
    for (let index = 0; index < 50; index++) await emit(store);
    const target = join(folder(), 'copy.db');
    const copying = backUpDatabase(location, target);
    for (let index = 0; index < 50; index++) await emit(store);
    await copying;
    const copy = await openSqlite(target, { clock: manualClock() });
    onTestFinished(() => copy.close());
    const report = await verifyStore(copy);
    expect(report).toMatchObject({ ok: true });
    expect(report.ok && report.count).toBeGreaterThanOrEqual(50);
  });

  it('keeps the five newest copies made before migrations', () => {
    const place = folder();
    const database = new DatabaseSync(join(place, 'a.db'));
    onTestFinished(() => database.close());
    database.exec('create table t (x)');
    const clock = manualClock();
    const made = Array.from({ length: 7 }, (_value, index) => {
      clock.advance(1000);
      return backUpBefore(database, join(place, 'backups'), index % 2 ? '0002-a' : '0001-b', clock.now());
    });
    expect(made.map((file) => existsSync(file))).toEqual([false, false, true, true, true, true, true]);
  });
});

/** Overwrites the middle of the file, where its tables and indexes are. */
function damage(file: string): void {
  const bytes = readFileSync(file);
  bytes.fill(0xee, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 16_384);
  writeFileSync(file, bytes);
}
