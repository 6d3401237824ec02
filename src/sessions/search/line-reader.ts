import { parentPort } from 'node:worker_threads';

import type { ReadableEntry } from '../readable/frame.ts';
import { readableEntries } from '../readable/readable-line.ts';

/** A line to read; without bytes, the next piece of what the last one with this id gave. */
export interface LineRequest {
  id: number;
  bytes?: Uint8Array;
}

/** A piece of a line's entries. */
export interface LineAnswer {
  id: number;
  entries: ReadableEntry[];
  hasMore: boolean;
}

/** So many entries are handed over at once: few enough to be taken in without holding anybody up. */
const pieceEntries = 1_000;

const left = new Map<number, ReadableEntry[]>();

parentPort?.on('message', ({ id, bytes }: LineRequest) => {
  const entries = bytes ? readableEntries(Buffer.from(bytes).toString('utf8')) : (left.get(id) ?? []);
  const piece = entries.slice(0, pieceEntries);
  const rest = entries.slice(pieceEntries);
  if (rest.length > 0) left.set(id, rest);
  else left.delete(id);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage({ id, entries: piece, hasMore: rest.length > 0 } satisfies LineAnswer);
});
