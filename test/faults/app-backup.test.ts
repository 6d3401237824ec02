import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { backUpDaily } from '../../src/app/backup/daily-backup.ts';
import { restoreHome } from '../../src/app/backup/restore-home.ts';
import { writeBackup } from '../../src/app/backup/write-backup.ts';
import { addOwner, findOwner, listOwners, removeOwner } from '../../src/app/notify/owners.ts';
import { pathsOf } from '../../src/config/index.ts';
import { isRefused, mustOk } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { eachStore, openTestSqlite } from '../../src/store/testing.ts';
import { openWorld } from '../app/world.ts';

const day = 86_400_000;

async function setup(open = openTestSqlite) {
  const store = await open();
  const world = await openWorld({ store });
  const paths = { ...world.ctx.paths, database: store.location };
  return { ...world, ctx: { ...world.ctx, paths } };
}

test('daily backups are made when one is wanted and a day has gone, and only their own older ones are removed (design 5)', async () => {
  const { app, caller, ctx, clock } = await setup();
  const names = () => readdirSync(ctx.paths.backups).filter((name) => name.startsWith('daily-'));
  mustOk(await backUpDaily(ctx));
  expect(() => names()).toThrow(/ENOENT/);
  mustOk(await app.instance.changeSetting(caller(), 'backup.daily', 2));
  mkdirSync(join(ctx.paths.backups, 'mine'), { recursive: true });
  mustOk(await backUpDaily(ctx));
  mustOk(await backUpDaily(ctx));
  const [first] = names();
  expect(names()).toEqual([first]);
  for (const _again of [1, 2]) {
    clock.advance(day + 1000);
    mustOk(await backUpDaily(ctx));
  }
  expect(names()).toHaveLength(2);
  expect(names()).not.toContain(first);
  expect(readdirSync(ctx.paths.backups)).toContain('mine');
});

test('two backups at once: one is written, the other is told where (design 5)', async () => {
  const { ctx, caller } = await setup();
  const both = await Promise.all(
    ['a', 'b'].map((name) => writeBackup(ctx, caller().actor, join(ctx.paths.backups, name))),
  );
  expect(both.filter((one) => one.ok)).toHaveLength(1);
  const [refused] = both.filter(isRefused);
  expect(refused?.refusal).toMatchObject({ kind: 'held', code: 'backup_running' });
  expect(readdirSync(ctx.paths.backups)).toHaveLength(1);
});

test('a Telegram owner who was taken off the list after the backup decides nothing after a restore (S-34)', async () => {
  const { caller, ctx, folder } = await setup();
  for (const id of ['1001', '1002'])
    await ctx.store.tx(async (tx) => mustOk(await addOwner(tx, { telegramId: id }, caller().actor)));
  const target = join(folder, 'safe');
  mustOk(await writeBackup(ctx, caller().actor, target));
  await ctx.store.tx((tx) => removeOwner(tx, '1002', caller().actor));
  expect((await listOwners(ctx.store.read)).map(({ telegramId }) => telegramId)).toEqual(['1001']);
  const paths = pathsOf(join(folder, 'again'));
  const request = { from: target, paths, passphrase: 'correct horse battery', stopAgents: false, say: () => {} };
  const restored = mustOk(await restoreHome(request));
  // Whoever may come back is named, so that the operator can add them anew.
  expect(restored.formerOwners).toEqual([
    { telegramId: '1001', operator: 'ada' },
    { telegramId: '1002', operator: 'ada' },
  ]);
  expect(restored.operators).toEqual(['ada']);
  const store = await openStore({ home: paths });
  onTestFinished(() => store.close());
  for (const id of ['1001', '1002']) expect(await findOwner(store.read, id)).toBeUndefined();
  const events = await store.read.selectFrom('event').select(['kind', 'subject_id']).orderBy('ord').execute();
  expect(events.filter(({ kind }) => kind === 'notify.owner-removed').map((one) => one.subject_id)).toEqual([
    '1001',
    '1002',
  ]);
});

eachStore((dialect, open) => {
  test('a backup holds an embedded database; that of PostgreSQL is left to its own tools, and restore says so (design 5)', async () => {
    const { ctx, caller, folder } = await setup(open);
    const target = join(folder, 'safe');
    const backup = mustOk(await writeBackup(ctx, caller().actor, target));
    expect(backup.database).toBe(dialect);
    expect(backup.head.seq).toBeGreaterThan(0);
    expect(existsSync(join(target, 'chantier.db'))).toBe(dialect === 'sqlite');
    const restored = await restoreHome({
      from: target,
      paths: pathsOf(join(folder, 'empty')),
      passphrase: 'not the one',
      stopAgents: false,
      say: () => {},
    });
    expect(isRefused(restored) && restored.refusal.code).toBe(
      dialect === 'sqlite' ? 'wrong_passphrase' : 'backup_by_database',
    );
    expect(existsSync(join(folder, 'empty', 'chantier.db'))).toBe(false);
  });
});
