import { open } from 'node:fs/promises';

import type { ByteRange } from '../host/index.ts';

/** Longest line that is looked at, and how much is held at once: as much as a page of a transcript. */
export const windowBytes = 1024 * 1024;

/** A whole line of a journal. */
export interface WindowLine {
  start: number;
  end: number;
  bytes: Buffer;
}

/** Whole lines that end at or before where was asked, in their order. */
export interface JournalWindow {
  lines: Iterable<WindowLine>;
  /** Everything from here to where was asked was looked at; a line begins here, or `isInLine`. */
  from: number;
  /** `from` lies inside a line that is too long to look at. */
  isInLine: boolean;
  /** Bytes of too long lines, and of parts that were freed, that were passed over. */
  tooLong: number;
  freed: number;
}

/** Where a window ends. `isInLine`: what stands between the last newline before `end` and `end` is not a whole line. */
export interface WindowEnd {
  end: number;
  isInLine: boolean;
}

/**
 * Reads the part of a journal before `end`, at most `windowBytes` of it and nothing before `low`, which is the start of a line. Parts that
 * were freed are passed over; they begin and end with lines. `buffer` holds the lines until the next call with it. Throws when the file is
 * missing.
 */
export async function readWindow(
  path: string,
  low: number,
  { end, isInLine }: WindowEnd,
  freed: () => readonly ByteRange[],
  buffer: Buffer = Buffer.allocUnsafe(windowBytes),
): Promise<JournalWindow> {
  for (;;) {
    const known = freed();
    const hole = known.find((range) => range.start < end && end <= range.end);
    if (hole) {
      const from = Math.max(low, hole.start);
      return { lines: [], from, isInLine: false, tooLong: 0, freed: end - from };
    }
    const edge = Math.max(low, ...known.filter((range) => range.end < end).map((range) => range.end));
    const start = Math.max(edge, end - windowBytes);
    const bytes = await readPart(path, start, buffer.subarray(0, Math.max(0, end - start)));
    // Freed while it was read: a range is noted before it is zeros.
    if (freed().some((range) => range.start < end && range.end > start)) continue;
    return cutWindow(bytes, { start, end: start + bytes.length, isWholeStart: start === edge, isInLine });
  }
}

function cutWindow(
  bytes: Buffer,
  part: { start: number; end: number; isWholeStart: boolean; isInLine: boolean },
): JournalWindow {
  const nothing = { lines: [], isInLine: !part.isWholeStart, freed: 0, from: part.start, tooLong: bytes.length };
  const firstNewline = bytes.indexOf(10);
  const begin = part.isWholeStart ? 0 : firstNewline + 1;
  // No line begins in it, or only one that does not end in it.
  if (!part.isWholeStart && (firstNewline < 0 || (firstNewline === bytes.length - 1 && !part.isInLine))) return nothing;
  const last = bytes.lastIndexOf(10) + 1;
  const rest = part.isInLine ? bytes.length - Math.max(begin, last) : 0;
  const lines = linesOf(bytes, begin, part);
  return { lines, from: part.start + begin, isInLine: false, tooLong: rest, freed: 0 };
}

/** One after another and never all at once: a window may be nothing but a million newlines. */
function* linesOf(
  bytes: Buffer,
  begin: number,
  part: { start: number; end: number; isInLine: boolean },
): Generator<WindowLine> {
  let at = begin;
  for (let newline = bytes.indexOf(10, at); newline >= 0; newline = bytes.indexOf(10, at)) {
    yield { start: part.start + at, end: part.start + newline + 1, bytes: bytes.subarray(at, newline) };
    at = newline + 1;
  }
  if (at < bytes.length && !part.isInLine) yield { start: part.start + at, end: part.end, bytes: bytes.subarray(at) };
}

async function readPart(path: string, start: number, buffer: Buffer): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
