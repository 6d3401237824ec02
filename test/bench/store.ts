import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { benchImport, benchReady } from '../../src/ledger/index.ts';
import { openSqlite } from '../../src/store/index.ts';
import {
  benchEventDelay,
  benchPostgresTransaction,
  benchSqliteTransaction,
  type StoreBench,
} from '../../src/store/bench.ts';
import { postgresMissing, startPostgres } from '../../src/store/testing.ts';
import { type Figure, judged } from './figure.ts';

/** One use case with one event against the same two inserts by raw SQL, on both databases. */
export async function benchTransaction(): Promise<Figure[]> {
  const figures = [fromStore(await benchSqliteTransaction(), 'the same inserts by raw SQL')];
  if (postgresMissing() === undefined) {
    const server = await startPostgres();
    try {
      const url = server.urlOf(await server.createDatabase());
      figures.push(fromStore(await benchPostgresTransaction(url), 'the same inserts by raw SQL'));
    } finally {
      await server.stop();
    }
  }
  figures.push(await withStore(async (store) => fromStore(await benchEventDelay(store))));
  return figures;
}

/** `ready(50)` at 1,000 and 10,000 tasks with twice as many edges, against the bare query. */
export async function benchReadyTasks(): Promise<Figure[]> {
  const figures: Figure[] = [];
  await withStore((store) => benchReady(store, 1_000)); // warms up what both sizes share
  for (const tasks of [1_000, 10_000]) {
    const [ours, bare] = await withStore((store) => benchReady(store, tasks));
    if (!ours || !bare) throw new Error('the ledger measured nothing');
    figures.push(
      judged({
        name: `ledger: ready(50) at ${tasks} tasks`,
        unit: 'ms',
        n: ours.runs,
        p50: ours.p50,
        p95: ours.p95,
        baseline: { name: 'a query for 50 rows, unordered', n: bare.runs, p50: bare.p50, p95: bare.p95 },
        target: { at: 'p95', atMost: 10, isMet: false },
        note: 'the use case alone; the target is over HTTP',
      }),
    );
  }
  return figures;
}

/** 1,000 tasks with 2,000 edges in one call. */
export async function benchImportTasks(): Promise<Figure[]> {
  const { tasks, runs, p50, p95 } = await withStore((store) => benchImport(store));
  const target = { at: 'p95', atMost: 1_000, isMet: false } as const;
  return [judged({ name: `ledger: import of ${tasks} tasks`, unit: 'ms', n: runs, p50, p95, target })];
}

function fromStore({ name, ours, baseline }: StoreBench, baselineName = ''): Figure {
  const n = 270; // 300 runs without the tenth that warms up
  return judged({
    name: `store: ${name}`,
    unit: 'ms',
    n,
    p50: ours.p50,
    p95: ours.p95,
    ...(baseline && { baseline: { name: baselineName, n, p50: baseline.p50, p95: baseline.p95 } }),
  });
}

async function withStore<T>(run: (store: Awaited<ReturnType<typeof openSqlite>>) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-bench-'));
  const store = await openSqlite(join(folder, 'chantier.db'));
  try {
    return await run(store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
