import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import type { ByteRange } from './freed-ranges.ts';

/** One line of an append-only file. `end` is the offset after its newline: what is stored as consumed. */
export type JournalLine =
  | { kind: 'line'; bytes: Buffer; start: number; end: number }
  /** Longer than the bound; its bytes were passed over, but for the first. */
  | { kind: 'oversized'; head: Buffer; start: number; end: number };

/** Bounds of a reader's memory. */
export interface ReaderBounds {
  /** Longest line that is handed out. Default 64 MiB. */
  maxLineBytes?: number;
  /** Bytes read at once. Default 256 KiB. */
  chunkBytes?: number;
}

/** How much of a line that is too long is kept. */
const headBytes = 1024;

/**
 * Reads an append-only file line by line. Lines are cut on the newline byte before anything is decoded, so a UTF-8 character
 * that two writes share arrives whole. What was freed is passed over. Memory: one line (at most `maxLineBytes`) and one chunk.
 */
export class JournalReader {
  readonly #file: FileHandle;
  readonly #maxLineBytes: number;
  readonly #chunkBytes: number;
  /** What was read and not yet cut into lines, and the file offset of its first byte. */
  #chunk: Buffer = Buffer.alloc(0);
  #chunkStart: number;
  /** The line that is being collected. */
  #lineStart: number;
  #parts: Buffer[] = [];
  #partsLength = 0;
  #isSkipping = false;
  #head: Buffer = Buffer.alloc(0);
  readonly #freed: () => readonly ByteRange[];

  private constructor(file: FileHandle, from: number, bounds: ReaderBounds, freed: () => readonly ByteRange[]) {
    this.#file = file;
    this.#freed = freed;
    this.#lineStart = from;
    this.#chunkStart = from;
    this.#maxLineBytes = bounds.maxLineBytes ?? 64 * 1024 * 1024;
    this.#chunkBytes = bounds.chunkBytes ?? 256 * 1024;
  }

  /**
   * Opens `path` at byte `from`, which must be the start of a line or lie in what was freed. `freed` says what that is, each
   * time anew. Throws when the file is missing.
   */
  static async open(
    path: string,
    from = 0,
    bounds: ReaderBounds = {},
    freed: () => readonly ByteRange[] = () => [],
  ): Promise<JournalReader> {
    return new JournalReader(await open(path, 'r'), from, bounds, freed);
  }

  /** Offset after the last line that was handed out. */
  get consumed(): number {
    return this.#lineStart;
  }

  /** Offset after the last byte that was read, of a line that is not complete too. */
  get readTo(): number {
    return this.#chunkStart + this.#chunk.length;
  }

  /** The next complete line, or `undefined` at the present end of the file; ask again when the file has grown. */
  async next(): Promise<JournalLine | undefined> {
    for (;;) {
      const newline = this.#chunk.indexOf(10);
      if (newline >= 0) return this.#finishLine(newline);
      this.#collect(this.#chunk);
      if (!(await this.#readChunk())) return undefined;
    }
  }

  /** The beginning of a line whose newline has not come (yet). */
  rest(): Buffer {
    return Buffer.concat(this.#parts, this.#partsLength);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #readChunk(): Promise<boolean> {
    this.#chunkStart += this.#chunk.length;
    this.#chunk = Buffer.alloc(0);
    for (;;) {
      const unread = (await this.#file.stat()).size - this.#chunkStart;
      if (unread <= 0) return false;
      const buffer = Buffer.allocUnsafe(Math.min(unread, this.#chunkBytes));
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#chunkStart);
      // Looked at after the bytes were read: what is freed is noted before it is zeros.
      const end = this.#chunkStart + bytesRead;
      const hole = this.#freed().find((range) => range.end > this.#chunkStart && range.start < end);
      if (!hole || hole.start > this.#chunkStart) {
        this.#chunk = buffer.subarray(0, (hole?.start ?? end) - this.#chunkStart);
        return bytesRead > 0;
      }
      this.#startAt(hole.end);
    }
  }

  /** What was collected of a line that was freed meanwhile goes with it. */
  #startAt(offset: number): void {
    this.#chunkStart = offset;
    this.#lineStart = offset;
    this.#parts = [];
    this.#partsLength = 0;
    this.#isSkipping = false;
  }

  #collect(part: Buffer): void {
    if (part.length === 0) return;
    if (!this.#isSkipping && this.#partsLength + part.length > this.#maxLineBytes) {
      this.#isSkipping = true;
      this.#head = Buffer.concat([...this.#parts, part.subarray(0, headBytes)]).subarray(0, headBytes);
    }
    if (this.#isSkipping) {
      this.#parts = [];
      this.#partsLength = 0;
      return;
    }
    this.#parts.push(part);
    this.#partsLength += part.length;
  }

  #finishLine(newline: number): JournalLine {
    this.#collect(this.#chunk.subarray(0, newline));
    const start = this.#lineStart;
    const end = this.#chunkStart + newline + 1;
    const line: JournalLine = this.#isSkipping
      ? { kind: 'oversized', head: this.#head, start, end }
      : { kind: 'line', bytes: Buffer.concat(this.#parts, this.#partsLength), start, end };
    this.#chunk = this.#chunk.subarray(newline + 1);
    this.#chunkStart = end;
    this.#lineStart = end;
    this.#parts = [];
    this.#partsLength = 0;
    this.#isSkipping = false;
    return line;
  }
}
