import { type Kysely, sql } from 'kysely';

import { chainOn, readHead, type UnsequencedRow } from '../events.ts';
import type { Schema } from '../schema/index.ts';

/** Any number that nothing else locks; held by whoever numbers events, for one batch. */
const sequencerLock = 4748;
const batchSize = 1000;
/** Looks this often without being woken: events of a node that died between COMMIT and numbering. */
const pollMs = 1000;

/** Numbers and chains committed events (design 5): what readers see. */
export interface Sequencer {
  /** Numbers what is committed by now, soon. */
  wake(): void;
  /** Resolves when all that was committed before the call has its number. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Runs the numbering on this node. The right to number is an advisory lock that lasts one batch, so it can neither be kept
 * by a frozen node nor be held by two; the gapless order of `seq` is the order in which batches commit. `onNumbered` is
 * called after each batch; a failed batch is tried again at the next wake-up or poll.
 */
export function startSequencer(db: Kysely<Schema>, onNumbered: () => void): Sequencer {
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  const timer = setInterval(wake, pollMs);

  function wake(): void {
    if (stopped) return;
    again = true;
    running ??= run();
  }

  async function run(): Promise<void> {
    try {
      while (again) {
        again = false;
        const numbered = await numberBatch(db);
        if (numbered > 0) onNumbered();
        if (numbered >= batchSize) again = true;
      }
    } catch {
      again = false;
    } finally {
      running = undefined;
    }
  }

  return {
    wake,
    async settled() {
      while (!stopped && (await isBehind(db))) {
        wake();
        await running;
      }
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Numbers about `batchSize` committed events, never a part of a transaction; gives how many. */
export async function numberBatch(db: Kysely<Schema>): Promise<number> {
  if (!(await isBehind(db))) return 0;
  return db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(sequencerLock)})`.execute(trx);
    const rows = await readUnsequenced(trx);
    if (rows.length === 0) return 0;
    const chained = chainOn(await readHead(trx), rows);
    await sql`update event set seq = v.seq, prev_hash = v.prev_hash, hash = v.hash
      from unnest(${rows.map((row) => row.ord)}::bigint[], ${chained.map((row) => row.seq)}::bigint[],
        ${chained.map((row) => row.prev_hash)}::text[], ${chained.map((row) => row.hash)}::text[])
        as v (ord, seq, prev_hash, hash)
      where event.ord = v.ord`.execute(trx);
    return rows.length;
  });
}

/**
 * The events of whole transactions, one transaction after another. They are written at the end of their use case, so the
 * last `ord` of each orders any two that met on a row as they committed.
 */
async function readUnsequenced(db: Kysely<Schema>): Promise<(UnsequencedRow & { ord: number })[]> {
  const { rows } = await sql<UnsequencedRow & { ord: number }>`
    with page as (select xmin::text as writer from event where seq is null order by ord limit ${sql.lit(batchSize)})
    select event.*, max(ord) over (partition by xmin::text) as writer_ord from event
    where seq is null and xmin::text in (select writer from page)
    order by writer_ord, ord`.execute(db);
  return rows;
}

async function isBehind(db: Kysely<Schema>): Promise<boolean> {
  const row = await db.selectFrom('event').select('ord').where('seq', 'is', null).limit(1).executeTakeFirst();
  return row !== undefined;
}
