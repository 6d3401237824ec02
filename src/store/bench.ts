import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { Client } from 'pg';

import { newId, systemActor } from '../kernel/index.ts';
import { openPostgres } from './postgres/open.ts';
import { followEvents } from './follow-events.ts';
import { openSqlite } from './sqlite/open.ts';
import type { Store } from './store.ts';

/** Milliseconds at which half, 95 % and 99 % were done. */
export interface Spread {
  p50: number;
  p95: number;
  p99: number;
}

/** One figure of `npm run bench`: ours beside a baseline of the same run, taken in turns. */
export interface StoreBench {
  name: string;
  ours: Spread;
  baseline?: Spread;
  /** `ours.p50 / baseline.p50`. */
  ratio?: number;
}

/** A use case that writes one row and one event, against the same two inserts by raw SQL: SQLite on the disk of `folder`. */
export async function benchSqliteTransaction(folder: string = tmpdir(), count = 300): Promise<StoreBench> {
  const place = mkdtempSync(join(folder, 'chantier-bench-'));
  const store = await openSqlite(join(place, 'ours.db'));
  const raw = new DatabaseSync(join(place, 'raw.db'));
  raw.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; create table a (k text primary key, v text) strict; create table b (n integer primary key, t text) strict',
  );
  const insert = raw.prepare('insert into a values (?, ?)');
  const insertEvent = raw.prepare('insert into b (t) values (?)');
  try {
    return await inTurns(
      'store.tx on SQLite',
      count,
      () => writeOnce(store),
      async () => {
        raw.exec('BEGIN IMMEDIATE');
        insert.run(newId(), '1');
        insertEvent.run('an event of about the same length as ours, so that the pages fill alike'.repeat(5));
        raw.exec('COMMIT');
      },
    );
  } finally {
    raw.close();
    await store.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** The same on an empty PostgreSQL database. */
export async function benchPostgresTransaction(url: string, count = 300): Promise<StoreBench> {
  const store = await openPostgres(url);
  const raw = new Client({ connectionString: url });
  await raw.connect();
  await raw.query(
    'create table bench_a (k text primary key, v text); create table bench_b (n bigserial primary key, t text)',
  );
  try {
    return await inTurns(
      'store.tx on PostgreSQL',
      count,
      () => writeOnce(store),
      async () => {
        await raw.query('begin isolation level read committed');
        await raw.query('insert into bench_a values ($1, $2)', [newId(), '1']);
        await raw.query('insert into bench_b (t) values ($1)', ['an event of about the same length as ours'.repeat(8)]);
        await raw.query('commit');
      },
    );
  } finally {
    await raw.end();
    await store.close();
  }
}

/** From the return of `store.tx` to the event at a follower: what SSE clients wait for (target on PostgreSQL: p95 ≤ 50 ms). */
export async function benchEventDelay(store: Store, count = 200): Promise<StoreBench> {
  const committedAt = new Map<string, number>();
  const delays: number[] = [];
  let heard = (): void => {};
  const live = followEvents(store, 0, (row) => {
    const at = committedAt.get(row.id);
    delays.push(at === undefined ? 0 : performance.now() - at);
    heard();
  });
  for (let n = 0; n < count; n++) {
    const next = new Promise<void>((resolve) => (heard = resolve));
    const id = await writeOnce(store);
    committedAt.set(id, performance.now());
    await next;
  }
  await live.stop();
  return { name: `event to follower on ${store.dialect}`, ours: spreadOf(delays) };
}

function writeOnce(store: Store): Promise<string> {
  return store.tx(async (tx) => {
    await tx.db
      .insertInto('setting')
      .values({ key: newId(), value: '1', updated_by: 'bench', updated_at: tx.now })
      .execute();
    return tx.emit({ kind: 'server.started', actor: systemActor('bench'), subject: { kind: 'server', id: 'bench' } });
  });
}

/** Takes both in turns, so that what else the machine does hits both alike; the first tenth is thrown away. */
async function inTurns(
  name: string,
  count: number,
  ours: () => Promise<unknown>,
  baseline: () => Promise<unknown>,
): Promise<StoreBench> {
  const times: { ours: number[]; baseline: number[] } = { ours: [], baseline: [] };
  for (let n = 0; n < count; n++) {
    times.ours.push(await timed(ours));
    times.baseline.push(await timed(baseline));
  }
  const warm = Math.floor(count / 10);
  const spreads = { ours: spreadOf(times.ours.slice(warm)), baseline: spreadOf(times.baseline.slice(warm)) };
  return { name, ...spreads, ratio: spreads.ours.p50 / spreads.baseline.p50 };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}

function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
