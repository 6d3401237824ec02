import { Readable } from 'node:stream';

import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { systemActor } from '../kernel/index.ts';
import { chainHash, genesisHash, type SequencedRow } from './events.ts';
import { exportEvents, formatAnchor, parseAnchor, readAnchor, verifyExport, verifyStore } from './export-events.ts';
import { followEvents } from './follow-events.ts';
import { readEventBounds, readEvents } from './read-events.ts';
import type { NewEvent, Store } from './store.ts';
import { eachStore } from './testing.ts';

const event = (id: string, more: Partial<NewEvent> = {}): NewEvent => ({
  kind: 'server.started',
  actor: systemActor('test'),
  subject: { kind: 'server', id },
  ...more,
});

const emitOne = (store: Store, id: string, more?: Partial<NewEvent>): Promise<string> =>
  store.tx((tx) => tx.emit(event(id, more)));

eachStore((dialect, open) => {
  it('numbers events without gaps from 1, each linked to the one before', async () => {
    const { store, clock } = await open();
    const first = await emitOne(store, 'a', { facts: { n: 1, b: 'x' }, projectId: 'p', sessionId: 's', cause: 'c' });
    clock.advance(5);
    await store.tx(async (tx) => {
      await tx.emit(event('b'));
      await tx.emit(event('c'));
    });
    await store.settled();
    const rows = await readEvents(store);
    expect(rows.map((row) => [row.seq, row.subject_id])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ]);
    expect(rows[0]).toMatchObject({
      id: first,
      at: clock.now() - 5,
      project_id: 'p',
      session_id: 's',
      cause: 'c',
      facts: '{"b":"x","n":1}',
    });
    let previous = genesisHash;
    for (const row of rows) {
      expect(row.prev_hash).toBe(previous);
      expect(row.hash).toBe(chainHash(previous, row.seq, row));
      previous = row.hash;
    }
    expect(await readEventBounds(store)).toEqual({ first: 1, head: 3, hash: previous });
  });

  it('gives the events of one kind, however many others lie between, and the last of them on request', async () => {
    const { store } = await open();
    for (const id of ['a', 'b', 'c']) {
      await emitOne(store, id, { kind: 'server.stopped' });
      for (let i = 0; i < 20; i += 1) await emitOne(store, 'noise');
    }
    await store.settled();
    const ids = async (query: Parameters<typeof readEvents>[1]) =>
      (await readEvents(store, { kind: 'server.stopped', ...query })).map((row) => row.subject_id);
    expect(await ids({})).toEqual(['a', 'b', 'c']);
    expect(await ids({ after: 1, limit: 1 })).toEqual(['b']);
    expect(await ids({ newest: true, limit: 2 })).toEqual(['b', 'c']);
  });

  it('gives the events of one session, project or subject, in pages', async () => {
    const { store } = await open();
    await emitOne(store, 'a', { sessionId: 's1', projectId: 'p1' });
    await emitOne(store, 'b', { sessionId: 's2', projectId: 'p1' });
    await emitOne(store, 'a', { sessionId: 's1', projectId: 'p2' });
    await store.settled();
    const places = async (query: Parameters<typeof readEvents>[1]): Promise<number[]> =>
      (await readEvents(store, query)).map((row) => row.seq);
    expect(await places({ sessionId: 's1' })).toEqual([1, 3]);
    expect(await places({ projectId: 'p1' })).toEqual([1, 2]);
    expect(await places({ subject: { kind: 'server', id: 'a' }, after: 1 })).toEqual([3]);
    expect(await places({ limit: 2 })).toEqual([1, 2]);
    expect(await places({ after: 2, limit: 2 })).toEqual([3]);
  });

  it('refuses to change, remove or renumber an event, by raw SQL as well', async () => {
    const { store } = await open();
    await emitOne(store, 'a');
    await store.settled();
    const attempts = [
      `update event set facts = '{}'`,
      `update event set seq = 7`,
      `update event set hash = 'x'`,
      `update event set subject_id = 'other' where seq = 1`,
      `delete from event`,
      ...(dialect === 'postgres'
        ? ['truncate event', 'truncate event cascade']
        : [
            `insert or replace into event select ord, seq, id, 0, actor_kind, actor_id, kind, subject_kind, subject_id,
            project_id, session_id, cause, '{}', prev_hash, hash from event`,
          ]),
    ];
    for (const attempt of attempts) {
      const run = store.tx((tx) => sql.raw(attempt).execute(tx.db));
      await expect(run, attempt).rejects.toThrow('history_is_append_only');
    }
    expect(await verifyStore(store)).toMatchObject({ ok: true, count: 1 });
  });

  it('numbers without gaps what many write at once, on two nodes where there can be two (ledger cases 11 and 15)', async () => {
    const { store, reopen } = await open();
    const nodes = dialect === 'postgres' ? [store, await reopen()] : [store];
    const writes = Array.from({ length: 60 }, (_value, index) =>
      (nodes[index % nodes.length] as Store).tx(async (tx) => {
        await tx.emit(event(`w${index}`, { facts: { part: 1 } }));
        await tx.db.selectFrom('setting').selectAll().execute();
        await tx.emit(event(`w${index}`, { facts: { part: 2 } }));
        if (index % 10 === 9) throw new Error('rolled back');
      }),
    );
    const kept = (await Promise.allSettled(writes)).filter((result) => result.status === 'fulfilled').length;
    await store.settled();
    const rows = await readEvents(store, { limit: 1000 });
    expect(kept).toBe(54);
    expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 108 }, (_value, index) => index + 1));
    expect(await verifyStore(store)).toMatchObject({ ok: true, count: 108 });
    for (let at = 0; at < rows.length; at += 2) {
      expect(rows[at]?.subject_id).toBe(rows[at + 1]?.subject_id);
      expect([rows[at]?.facts, rows[at + 1]?.facts]).toEqual(['{"part":1}', '{"part":2}']);
    }
  });

  it('orders the events of use cases that met on a row as they met, even when the later one reported first', async () => {
    const { store } = await open();
    await store.tx((tx) =>
      tx.db.insertInto('setting').values({ key: 'k', value: '0', updated_by: 'x', updated_at: 0 }).execute(),
    );
    const count = (): Promise<void> =>
      store.tx(async (tx) => {
        const facts: Record<string, number> = {};
        await tx.emit(event('early', { facts: { n: 0 } }));
        const row = await tx.db
          .updateTable('setting')
          .set({ updated_at: sql`updated_at + 1` })
          .returning('updated_at')
          .executeTakeFirstOrThrow();
        facts.n = row.updated_at;
        await tx.emit(event('late', { facts }));
      });
    await Promise.all(Array.from({ length: 20 }, count));
    await store.settled();
    const rows = await readEvents(store, { subject: { kind: 'server', id: 'late' }, limit: 1000 });
    expect(rows.map((row) => row.facts)).toEqual(Array.from({ length: 20 }, (_value, index) => `{"n":${index + 1}}`));
  });

  it('replays after a place and goes on live, each event once and in order', async () => {
    const { store } = await open();
    for (const id of ['a', 'b', 'c']) await emitOne(store, id);
    const seen: string[] = [];
    let gotAll = (): void => {};
    const all = new Promise<void>((resolve) => (gotAll = resolve));
    const following = followEvents(store, 1, async (row) => {
      await Promise.resolve();
      seen.push(row.subject_id);
      if (row.subject_id === 'last') gotAll();
    });
    await Promise.all(Array.from({ length: 30 }, (_value, index) => emitOne(store, `live${index}`)));
    await emitOne(store, 'last');
    await all;
    await following.stop();
    await store.settled();
    const stored = await readEvents(store, { after: 1, limit: 1000 });
    expect(seen).toEqual(stored.map((row) => row.subject_id));
    expect(seen.slice(0, 2)).toEqual(['b', 'c']);
    expect(seen).toHaveLength(33);
  });

  it('gives many followers what fits each, from wherever they start, with one reading for all', async () => {
    const { store } = await open();
    for (let index = 0; index < 5; index++) await emitOne(store, `old${index}`, { sessionId: index % 2 ? 's1' : 's2' });
    await store.settled();
    const followers = Array.from({ length: 20 }, (_value, index) => {
      const seen: string[] = [];
      let gotLast = (): void => {};
      const last = new Promise<void>((resolve) => (gotLast = resolve));
      const filter = index % 2 ? { sessionId: 's1' } : {};
      const following = followEvents(
        store,
        index % 7,
        (row) => {
          seen.push(row.id);
          if (row.subject_id === 'last') gotLast();
        },
        { filter },
      );
      return { seen, last, following, query: { ...filter, after: index % 7 } };
    });
    await Promise.all(
      Array.from({ length: 40 }, (_value, index) =>
        emitOne(store, `live${index}`, { sessionId: index % 2 ? 's1' : 's2' }),
      ),
    );
    await emitOne(store, 'last', { sessionId: 's1' });
    await Promise.all(followers.map((follower) => follower.last));
    for (const { seen, following, query } of followers) {
      await following.stop();
      expect(seen).toEqual((await readEvents(store, query)).map((row) => row.id));
    }
  });

  it('ends a following whose reader fails, and tells it', async () => {
    const { store } = await open();
    await emitOne(store, 'a');
    const error = await new Promise((resolve) => {
      followEvents(
        store,
        0,
        () => {
          throw new Error('reader gone');
        },
        { onEnd: resolve },
      );
    });
    expect(error).toMatchObject({ message: 'reader gone' });
  });

  it('exports the log so that the export alone can be verified, and shows a cut or rewritten one by an anchor', async () => {
    const { store } = await open();
    for (const id of ['a', 'b', 'c', 'd']) await emitOne(store, id);
    await store.settled();
    const lines: string[] = [];
    for await (const line of exportEvents(store)) lines.push(line);
    const anchor = await readAnchor(store);
    const verify = (some: string[], anchors = [anchor]) => verifyExport(Readable.from(some), anchors);
    expect(await verify(lines)).toEqual({ ok: true, count: 4, head: anchor });
    expect(await verify(lines.slice(2))).toMatchObject({ ok: true, count: 2 });
    expect(await verify(lines.slice(0, 3))).toMatchObject({ ok: false, fault: 'cut', seq: 4 });
    expect(await verify(lines, [{ seq: 3, hash: 'f'.repeat(64) }])).toMatchObject({
      ok: false,
      fault: 'rewritten',
      seq: 3,
    });
    const row = JSON.parse(lines[1] as string) as SequencedRow;
    const changed = [
      lines[0],
      lines[1]?.replace('"subject_id":"b"', '"subject_id":"x"'),
      lines[2],
      lines[3],
    ] as string[];
    expect(await verify(changed)).toMatchObject({ ok: false, fault: 'changed', seq: 2, id: row.id });
    expect(parseAnchor(formatAnchor(anchor))).toEqual(anchor);
    await expect(verify(['no event\n'])).rejects.toMatchObject({ code: 'export_malformed' });
  });

  it('names the event in which one byte was changed in a copy of the store', async () => {
    const { store } = await open();
    const ids = [];
    for (const name of ['a', 'b', 'c']) ids.push(await emitOne(store, name));
    await store.settled();
    const disable =
      dialect === 'sqlite' ? 'drop trigger event_no_update' : 'alter table event disable trigger event_no_update';
    await store.tx(async (tx) => {
      await sql.raw(disable).execute(tx.db);
      await sql.raw(`update event set facts = '{"n":1}' where seq = 2`).execute(tx.db);
    });
    expect(await verifyStore(store)).toMatchObject({ ok: false, fault: 'changed', seq: 2, id: ids[1] });
  });

  if (dialect === 'postgres') {
    it('hides events that have no number yet, and numbers those of a node that died', async () => {
      const { store, reopen } = await open();
      await sql`insert into event (id, at, actor_kind, actor_id, kind, subject_kind, subject_id, facts)
        values ('orphan', 1, 'system', 'x', 'server.started', 'server', 'dead', '{}')`.execute(store.read);
      expect(await readEvents(store)).toEqual([]);
      const other = await reopen();
      const numbered = new Promise<string>((resolve) => followEvents(other, 0, (row) => resolve(row.id)));
      expect(await numbered).toBe('orphan');
      expect(await verifyStore(store)).toMatchObject({ ok: true, count: 1 });
    });
  }
});
