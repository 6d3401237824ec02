import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { canonicalJson, Fault } from '../kernel/index.ts';
import type { SequencedRow } from './events.ts';
import { readEventBounds, readEvents } from './read-events.ts';
import type { Store } from './store.ts';
import { type Anchor, type ChainReport, verifyChain } from './verify-chain.ts';

const pageSize = 1000;

/** Every sequenced event after `after` (default 0) up to the head at the time of the call, page by page. */
export async function* eachEvent(store: Store, after = 0): AsyncGenerator<SequencedRow> {
  const { head } = await readEventBounds(store);
  let position = after;
  while (position < head) {
    const page = await readEvents(store, { after: position, limit: pageSize });
    if (page.length === 0) return;
    for (const row of page) {
      if (row.seq > head) return;
      yield row;
    }
    position = page.at(-1)?.seq ?? head;
    // SQLite answers without waiting: let others have a turn between pages.
    await nextTurn();
  }
}

/** The event log as NDJSON, one line with its newline at a time; an export alone can be verified (`verifyExport`). */
export async function* exportEvents(store: Store, after = 0): AsyncGenerator<string> {
  for await (const row of eachEvent(store, after)) yield `${canonicalJson(row)}\n`;
}

/** Verifies the whole log of a store. */
export async function verifyStore(store: Store, anchors: readonly Anchor[] = []): Promise<ChainReport> {
  await store.settled();
  return verifyChain(eachEvent(store), { anchors });
}

/**
 * Verifies an export without the store. A part that starts later than event 1 is taken as it starts (its first link can
 * only be checked with the part before it). Throws `Fault` `export_malformed` for a line that is no event.
 */
export async function verifyExport(input: Readable, anchors: readonly Anchor[] = []): Promise<ChainReport> {
  const rows = parseExport(input);
  const first = await rows.next();
  if (first.done) return verifyChain([], { anchors });
  const { seq, prev_hash } = first.value;
  return verifyChain(prepend(first.value, rows), {
    anchors,
    ...(seq > 1 ? { from: { seq: seq - 1, hash: prev_hash } } : {}),
  });
}

async function* parseExport(input: Readable): AsyncGenerator<SequencedRow> {
  let line = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text !== '') yield parseLine(text, line);
  }
}

function parseLine(text: string, line: number): SequencedRow {
  try {
    const row = JSON.parse(text) as SequencedRow;
    if (Number.isSafeInteger(row.seq) && typeof row.hash === 'string' && typeof row.prev_hash === 'string') return row;
  } catch {}
  throw new Fault('export_malformed', `Line ${line} of the export is no event.`, { facts: { line } });
}

async function* prepend<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

/** The newest event's place and hash, to be kept outside the store: in a git ref, a file, a mail (design 5). */
export async function readAnchor(store: Store): Promise<Anchor> {
  const { head, hash } = await readEventBounds(store);
  return { seq: head, hash };
}

/** One line that a human can keep and `parseAnchor` reads again. */
export function formatAnchor(anchor: Anchor): string {
  return `${anchor.seq}:${anchor.hash}`;
}

/** Reads what `formatAnchor` wrote; `undefined` when it is something else. */
export function parseAnchor(text: string): Anchor | undefined {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text.trim());
  return match ? { seq: Number(match[1]), hash: match[2] as string } : undefined;
}
