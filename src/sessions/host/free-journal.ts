import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import type { ByteRange } from './freed-ranges.ts';
import type { Generation } from './generation.ts';
import type { JournalLine } from './journal-reader.ts';

const run = promisify(execFile);

/** How a journal is freed. */
export interface FreeOptions {
  /** Up to here everything is applied, as the store says. */
  consumedTo: number;
  /** So much of the newest output stays whole. */
  keepBytes: number;
  /** Whether a line is worth nothing any more once it was applied: reading the journal again does not need it. */
  isSpent(line: Buffer): boolean;
}

/** The opening of a conversation lies in the first bytes; they stay. */
const keepHeadBytes = 1024 * 1024;
/** A shorter run of spent lines is not worth a hole. */
const minRunBytes = 64 * 1024;
/** So much must have become old before it is looked at again. */
const minScanBytes = 16 * 1024 * 1024;
const maxRanges = 4_096;
const blockBytes = 4_096;
/** Spent lines are known by their heads; longer ones are not collected for it. */
const maxLineBytes = 1024 * 1024;

/** Frees what is old and spent of one living generation's journal (decision 2); kept by whoever holds the generation. */
export class JournalFreer {
  readonly #generation: Generation;
  #scannedTo: number | undefined;
  #isAtWork = false;

  constructor(generation: Generation) {
    this.#generation = generation;
  }

  /** Gives how many bytes were freed; 0 where the file system or the machine has no holes. */
  async free(options: FreeOptions): Promise<number> {
    if (this.#isAtWork) return 0;
    this.#isAtWork = true;
    try {
      return await this.#free(options);
    } finally {
      this.#isAtWork = false;
    }
  }

  async #free({ consumedTo, keepBytes, isSpent }: FreeOptions): Promise<number> {
    const limit = Math.min(consumedTo, this.#generation.journalSize() - keepBytes);
    const known = this.#generation.freed();
    const from = this.#scannedTo ?? known.at(-1)?.end ?? 0;
    if (limit - from < minScanBytes || known.length >= maxRanges) return 0;
    if (!(await canPunchHoles(this.#generation.files.folder))) return 0;
    const { runs, end } = await this.#findRuns(from, limit, isSpent);
    if (runs.length > 0) await this.#generation.noteFreed(runs.slice(0, maxRanges - known.length));
    // All of them: a server that died in between has noted more than it freed, and a hole can be made twice.
    const wanted = this.#scannedTo === undefined ? this.#generation.freed() : runs;
    let freed = 0;
    for (const range of wanted) freed += await punchHole(this.#generation.files.journal, range);
    this.#scannedTo = end;
    return freed;
  }

  async #findRuns(
    from: number,
    limit: number,
    isSpent: FreeOptions['isSpent'],
  ): Promise<{ runs: ByteRange[]; end: number }> {
    const reader = await this.#generation.readJournal(from, { maxLineBytes });
    const runs: ByteRange[] = [];
    let current: ByteRange | undefined;
    const close = (): void => {
      if (current && current.end - current.start >= minRunBytes) runs.push(current);
      current = undefined;
    };
    try {
      for (let line = await reader.next(); line && line.end <= limit; line = await reader.next()) {
        if (line.end <= keepHeadBytes || !isLineSpent(line, isSpent)) close();
        else if (current && current.end === line.start) current.end = line.end;
        else {
          close();
          current = { start: line.start, end: line.end };
        }
      }
      close();
      return { runs, end: Math.min(reader.consumed, limit) };
    } finally {
      await reader.close();
    }
  }
}

function isLineSpent(line: JournalLine, isSpent: FreeOptions['isSpent']): boolean {
  return isSpent(line.kind === 'line' ? line.bytes : line.head);
}

const program = ['/usr/bin/fallocate', '/bin/fallocate'].find((path) => isExecutable(path));
const known = new Map<string, boolean>(); // by the folder of all sessions

/** Whether the files of a generation's `folder` can have holes made into them: util-linux is there and the file system plays along. */
export async function canPunchHoles(folder: string): Promise<boolean> {
  if (program === undefined) return false;
  const place = dirname(dirname(folder));
  const before = known.get(place);
  if (before !== undefined) return before;
  const probe = join(folder, `.holes-${process.pid}`);
  try {
    await writeFile(probe, Buffer.alloc(2 * blockBytes), { mode: 0o600 });
    await punchHole(probe, { start: 0, end: blockBytes });
    known.set(place, true);
    return true;
  } catch (error) {
    // A full disk says nothing about holes.
    if (!isNoSpace(error)) known.set(place, false);
    return false;
  } finally {
    await rm(probe, { force: true });
  }
}

/** Frees the whole blocks of `range`; its size stays. Gives how many bytes. */
async function punchHole(path: string, { start, end }: ByteRange): Promise<number> {
  const offset = Math.ceil(start / blockBytes) * blockBytes;
  const length = Math.floor(end / blockBytes) * blockBytes - offset;
  if (length <= 0) return 0;
  await run(program!, ['--punch-hole', '--offset', String(offset), '--length', String(length), path], { env: {} });
  return length;
}

function isNoSpace(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOSPC';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
