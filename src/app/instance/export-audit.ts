import { canonicalJson } from '../../kernel/index.ts';
import { evidenceOf, rejectionLine } from '../../sessions/index.ts';
import { eachEvent, type SequencedRow } from '../../store/index.ts';
import type { AuditExportQuery } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { ensureEvidenceKey } from './evidence-key.ts';

/** Events whose texts are looked up at a time. */
const batchSize = 200;

/**
 * The log as lines of JSON, read and sent a page at a time: as it stands, its rejections alone in the seed's shape (S7.4), or
 * with texts as keyed hashes (S-63). The first and the last can be verified alone. Throws before the first line when it cannot begin.
 */
export function exportAudit(
  ctx: Pick<AppContext, 'store' | 'paths'>,
  { view, ...range }: AuditExportQuery,
): AsyncIterable<string> {
  const rows = rowsOf(ctx, range);
  switch (view) {
    case 'events':
      return linesOf(rows, canonicalJson);
    case 'rejections':
      return linesOf(rows, (row) => JSON.stringify(rejectionLine(row)));
    case 'evidence':
      return linesOf(withEvidence(ctx, rows, ensureEvidenceKey(ctx.paths.keys)), canonicalJson);
  }
}

async function* rowsOf(
  { store }: Pick<AppContext, 'store'>,
  { from, to = Number.POSITIVE_INFINITY }: { from: number; to?: number | undefined },
): AsyncGenerator<SequencedRow> {
  for await (const row of eachEvent(store, Math.max(0, from - 1))) {
    if (row.seq > to) return;
    yield row;
  }
}

async function* linesOf<T>(rows: AsyncIterable<T>, lineOf: (row: T) => string | undefined): AsyncGenerator<string> {
  for await (const row of rows) {
    const line = lineOf(row);
    if (line !== undefined) yield `${line}\n`;
  }
}

async function* withEvidence(
  { store }: Pick<AppContext, 'store'>,
  rows: AsyncIterable<SequencedRow>,
  key: string,
): AsyncGenerator<object> {
  for await (const batch of batchesOf(rows)) {
    const evidence = await evidenceOf(store.read, key, batch);
    for (const row of batch) yield evidence.has(row.id) ? { ...row, evidence: evidence.get(row.id) } : row;
  }
}

async function* batchesOf<T>(rows: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    if (batch.push(row) < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
