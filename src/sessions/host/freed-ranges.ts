import { readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';

/** A part of a file, in bytes; it begins and ends with whole lines. */
export interface ByteRange {
  start: number;
  end: number;
}

interface FreedRecord {
  version: 1;
  ranges: [start: number, end: number][];
}

/**
 * What of a journal was freed, in order; stored before anything is, so that whoever has read zeros finds the reason when he
 * looks here afterwards. Readers pass over it: the line after `start` is the one at `end`.
 */
export class FreedRanges {
  readonly #path: string;
  #ranges: ByteRange[] = [];
  #seen = '';

  /** `path`: `GenerationFiles.freed`. */
  constructor(path: string) {
    this.#path = path;
  }

  /** The ranges now; asked for with every chunk that is read, so that "nothing new" must be cheap. */
  list(): readonly ByteRange[] {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    const seen = stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : '';
    if (seen === this.#seen) return this.#ranges;
    const record = stat ? (JSON.parse(readFileSync(this.#path, 'utf8')) as FreedRecord) : { ranges: [] };
    this.#ranges = record.ranges.map(([start, end]) => ({ start, end }));
    this.#seen = seen;
    return this.#ranges;
  }

  /** Adds ranges that lie behind those that are there; neighbours become one. */
  async add(ranges: readonly ByteRange[]): Promise<void> {
    const merged: ByteRange[] = [];
    for (const range of [...this.list(), ...ranges]) {
      const last = merged.at(-1);
      if (last && last.end === range.start) last.end = range.end;
      else merged.push({ ...range });
    }
    const record: FreedRecord = { version: 1, ranges: merged.map(({ start, end }) => [start, end]) };
    await writeFile(`${this.#path}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }
}
