import { setTimeout as delay } from 'node:timers/promises';

import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { refuse, systemActor } from '../kernel/index.ts';
import type { StoreDialect } from './migrations/index.ts';
import type { NewEvent, Store } from './store.ts';
import { eachStore } from './testing.ts';

const event = (id: string): NewEvent => ({
  kind: 'server.started',
  actor: systemActor('test'),
  subject: { kind: 'server', id },
});

async function subjects(store: Store): Promise<string[]> {
  await store.settled();
  const rows = await store.read.selectFrom('event').select('subject_id').orderBy('seq').execute();
  return rows.map((row) => row.subject_id);
}

async function setSetting(store: Store, key: string, value: string): Promise<void> {
  await store.tx((tx) =>
    tx.db
      .insertInto('setting')
      .values({ key, value, updated_by: 'test', updated_at: tx.now })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
      .execute(),
  );
}

eachStore((dialect, open) => {
  const only = (wanted: StoreDialect, title: string, test: () => Promise<void>): void => {
    if (dialect === wanted) it(title, test);
  };

  it('keeps what a use case wrote', async () => {
    const { store } = await open();
    await store.tx((tx) => tx.emit(event('a')));
    expect(await subjects(store)).toEqual(['a']);
  });

  it('keeps nothing of a use case that throws', async () => {
    const { store } = await open();
    const failing = store.tx(async (tx) => {
      await tx.emit(event('a'));
      await tx.db.insertInto('setting').values({ key: 'k', value: '1', updated_by: 'x', updated_at: 1 }).execute();
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await subjects(store)).toEqual([]);
    expect(await store.read.selectFrom('setting').selectAll().execute()).toEqual([]);
  });

  it('keeps nothing of a use case that refuses, and gives the refusal', async () => {
    const { store } = await open();
    const refused = await store.tx(async (tx) => {
      await tx.emit(event('b'));
      return refuse('invalid', 'not_so', 'Not so.');
    });
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'not_so' } });
    expect(await subjects(store)).toEqual([]);
  });

  it('refuses a transaction inside another, and works on', async () => {
    const { store } = await open();
    await expect(store.tx(() => store.tx(async () => 1))).rejects.toThrow('inside another transaction');
    expect(await store.tx(async () => 2)).toBe(2);
  });

  it('refuses to read beside the transaction from inside it', async () => {
    const { store } = await open();
    const peeking = store.tx(() => store.read.selectFrom('setting').selectAll().execute());
    await expect(peeking).rejects.toThrow('use the `db` of its `tx`');
  });

  it('lets a listener that was set inside a transaction open its own', async () => {
    const { store } = await open();
    const woken = await store.tx(async (tx) => {
      tx.wake('topic');
      const answer = new Promise<number>((resolve) => {
        store.onWake('topic', () => void store.tx(async () => 3).then(resolve));
      });
      return { answer };
    });
    expect(await woken.answer).toBe(3);
  });

  it('gives one time for the whole use case, from its clock', async () => {
    const { store, clock } = await open();
    const times = await store.tx(async (tx) => {
      const first = tx.now;
      clock.advance(1000);
      return [first, tx.now];
    });
    expect(times[0]).toBe(times[1]);
    expect(await store.tx(async (tx) => tx.now)).toBe((times[0] ?? 0) + 1000);
  });

  it('wakes after the commit, with data that can be read, and not at all when rolled back', async () => {
    const { store } = await open();
    const seen: [string, number][] = [];
    const woken = new Promise<void>((resolve) => {
      store.onWake('things', async (subject) => {
        const rows = await store.read.selectFrom('setting').selectAll().execute();
        seen.push([subject, rows.length]);
        resolve();
      });
    });
    const rolledBack = store.tx(async (tx) => {
      tx.wake('things', 'never');
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await store.tx(async (tx) => {
      await tx.db.insertInto('setting').values({ key: 'k', value: '1', updated_by: 'x', updated_at: 1 }).execute();
      tx.wake('things', 'one');
      tx.wake('things', 'one');
    });
    await woken;
    expect(seen).toEqual([['one', 1]]);
  });

  it('ends a listener', async () => {
    const { store } = await open();
    const heard: string[] = [];
    store.onWake('t', (subject) => heard.push(`a${subject}`))();
    const last = new Promise<void>((resolve) => {
      store.onWake('t', (subject) => {
        heard.push(`b${subject}`);
        resolve();
      });
    });
    await store.tx(async (tx) => tx.wake('t', '1'));
    await last;
    expect(heard).toEqual(['b1']);
  });

  it('holds a row against another use case until the end', async () => {
    const { store } = await open();
    const id = await store.tx(async (tx) => {
      await tx.db
        .insertInto('effect')
        .values({
          id: 'e1',
          key: 'k',
          kind: 'x',
          payload: '{}',
          state: 'pending',
          attempts: 0,
          not_before: 0,
          created_at: 0,
        })
        .execute();
      return 'e1';
    });
    const addOne = (): Promise<unknown> =>
      store.tx(async (tx) => {
        await tx.lock('effect', id);
        const row = await tx.db.selectFrom('effect').select('attempts').where('id', '=', id).executeTakeFirstOrThrow();
        await tx.db
          .updateTable('effect')
          .set({ attempts: row.attempts + 1 })
          .where('id', '=', id)
          .execute();
      });
    await Promise.all(Array.from({ length: 20 }, addOne));
    const row = await store.read.selectFrom('effect').select('attempts').executeTakeFirstOrThrow();
    expect(row.attempts).toBe(20);
  });

  it('compares text byte by byte, whatever the locale of the database', async () => {
    const { store } = await open();
    for (const key of ['b', 'B', 'a', 'Z', 'ä', '_']) await setSetting(store, key, '1');
    const rows = await store.read.selectFrom('setting').select('key').orderBy('key').execute();
    expect(rows.map((row) => row.key)).toEqual(['B', 'Z', '_', 'a', 'b', 'ä']);
  });

  it('gives counts, sums and large times as numbers', async () => {
    const { store } = await open();
    await setSetting(store, 'a', '1');
    await store.tx((tx) => tx.db.updateTable('setting').set({ updated_at: Number.MAX_SAFE_INTEGER }).execute());
    const row = await store.read
      .selectFrom('setting')
      .select((eb) => [
        eb.fn.countAll().as('count'),
        eb.fn.max('updated_at').as('at'),
        eb.fn.sum('updated_at').as('sum'),
      ])
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ count: 1, at: Number.MAX_SAFE_INTEGER, sum: Number.MAX_SAFE_INTEGER });
  });

  it('refuses to give a number that a number cannot say exactly', async () => {
    const { store } = await open();
    const huge = sql<{
      n: number;
    }>`select ${sql.raw(dialect === 'sqlite' ? '9007199254740993' : '9007199254740993::bigint')} as n`;
    await expect(huge.execute(store.read)).rejects.toThrow();
  });

  it('finishes what runs and refuses new work when it is closed, twice without harm', async () => {
    const { store } = await open();
    let entered = (): void => {};
    const inside = new Promise<void>((resolve) => (entered = resolve));
    const running = store.tx(async (tx) => {
      entered();
      await tx.db.selectFrom('setting').selectAll().execute();
      return 'done';
    });
    await inside;
    await Promise.all([store.close(), store.close()]);
    expect(await running).toBe('done');
    await expect(store.tx(async () => 1)).rejects.toMatchObject({ code: 'store_closed' });
  });

  only('sqlite', 'refuses a use case that waits for something other than the database', async () => {
    const { store } = await open();
    const waiting = store.tx(async (tx) => {
      await tx.emit(event('a'));
      await delay(5);
    });
    await expect(waiting).rejects.toThrow('do I/O after commit');
    expect(await subjects(store)).toEqual([]);
  });

  only('postgres', 'wakes the other nodes', async () => {
    const { store, reopen } = await open();
    const other = await reopen();
    const woken = new Promise<string>((resolve) => void other.onWake('topic', resolve));
    await store.tx(async (tx) => tx.wake('topic', 'subject'));
    expect(await woken).toBe('subject');
  });

  only('postgres', 'wakes everybody when the listening connection was lost and is there again', async () => {
    const { store, reopen } = await open();
    const other = await reopen();
    const woken = new Promise<string>((resolve) => void other.onWake('topic', resolve));
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'chantier-listen' and datname = current_database()`.execute(store.read);
    expect(await woken).toBe('');
  });

  only('postgres', 'runs the whole use case again after a deadlock', async () => {
    const { store } = await open();
    await setSetting(store, 'a', '0');
    await setSetting(store, 'b', '0');
    let runs = 0;
    const meet = { waiting: 0, go: (): void => {} };
    const both = new Promise<void>((resolve) => (meet.go = resolve));
    const cross = (first: string, second: string): Promise<void> =>
      store.tx(async (tx) => {
        runs += 1;
        const add = (key: string): Promise<unknown> =>
          tx.db
            .updateTable('setting')
            .set({ value: sql`(value::int + 1)::text` })
            .where('key', '=', key)
            .execute();
        await add(first);
        meet.waiting += 1;
        if (meet.waiting === 2) meet.go();
        await both;
        await add(second);
        await tx.emit(event(`${first}${second}`));
      });
    await Promise.all([cross('a', 'b'), cross('b', 'a')]);
    expect(runs).toBe(3);
    expect((await store.read.selectFrom('setting').select('value').execute()).map((row) => row.value)).toEqual([
      '2',
      '2',
    ]);
    expect((await subjects(store)).toSorted()).toEqual(['ab', 'ba']);
  });

  only('postgres', 'runs the whole use case again when its connection is killed before COMMIT', async () => {
    const { store, reopen } = await open();
    const other = await reopen();
    let runs = 0;
    await store.tx(async (tx) => {
      runs += 1;
      await tx.emit(event('a'));
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db);
      if (runs === 1) await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other.read);
      await tx.db.selectFrom('setting').selectAll().execute();
    });
    expect(runs).toBe(2);
    expect(await subjects(store)).toEqual(['a']);
  });

  it('runs the check again when a racing use case won the unique index', async () => {
    const { store } = await open();
    const takeOnce = (by: string): Promise<string> =>
      store.tx(async (tx) => {
        const known = await tx.db.selectFrom('setting').select('value').where('key', '=', 'seat').executeTakeFirst();
        if (known) return `refused: ${known.value}`;
        await tx.db.insertInto('setting').values({ key: 'seat', value: by, updated_by: by, updated_at: 1 }).execute();
        return 'won';
      });
    const answers = await Promise.all(Array.from({ length: 10 }, (_value, index) => takeOnce(`n${index}`)));
    expect(answers.filter((answer) => answer === 'won')).toHaveLength(1);
    expect(new Set(answers.filter((answer) => answer !== 'won')).size).toBe(1);
  });

  only('postgres', 'goes on when its idle connections were killed', async () => {
    const { store, reopen } = await open();
    const other = await reopen();
    await Promise.all([other.tx(async () => 1), other.tx(async () => 1)]);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(store.read);
    expect(await other.tx(async () => 1)).toBe(1);
  });
});
