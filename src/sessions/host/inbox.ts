import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { Fault } from '../../kernel/index.ts';
import type { GenerationFiles } from './generation-files.ts';

const newline = Buffer.from('\n');
/** How long the head of the record in `in.next` may be. */
const maxHeadBytes = 256;
/** How long a frame that was begun waits before it goes on when the disk refuses (ms). */
const retryAfterMs = 250;

/** Where a frame lies in `in.ndjson`; `end` is after its newline. */
export interface AppendedFrame {
  start: number;
  end: number;
}

/**
 * The append-only `in.ndjson`. Each frame is first stored in `in.next` with its place and hash; when a server dies while
 * it appends, the next one finds the place half filled and writes exactly the missing bytes. So the agent, which has been
 * fed the first half already, reads one whole line: nothing torn, nothing twice.
 */
export class Inbox {
  readonly #inbox: FileHandle;
  readonly #next: FileHandle;
  #size: number;
  #nextLength = 0;
  #isClosing = false;
  #queue: Promise<unknown> = Promise.resolve();

  private constructor(inbox: FileHandle, next: FileHandle, size: number) {
    this.#inbox = inbox;
    this.#next = next;
    this.#size = size;
  }

  /** Opens the files of a generation for its one writer and completes what the last writer left torn. */
  static async open(files: GenerationFiles): Promise<Inbox> {
    const inbox = await open(files.inbox, 'a+', 0o600);
    const next = await open(files.inboxNext, 'a+', 0o600).then(async (created) => {
      await created.close();
      return open(files.inboxNext, 'r+');
    });
    const self = new Inbox(inbox, next, (await inbox.stat()).size);
    self.#nextLength = (await next.stat()).size;
    await self.#completeTornFrame();
    return self;
  }

  /**
   * Appends one frame (a line without its newline). Frames are written one after the other in the order of the calls. Once
   * a byte of a frame is written the frame is always completed; a `Fault` means that nothing of it was written.
   */
  append(frame: string): Promise<AppendedFrame> {
    if (frame.includes('\n')) throw new Error('a frame cannot hold a newline');
    const appended = this.#queue.then(() => this.#appendNow(Buffer.from(`${frame}\n`)));
    this.#queue = appended.catch(() => undefined);
    return appended;
  }

  /** Closes after the frame in hand; one that a full disk holds up is left to the next writer, who completes it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#queue;
    await this.#inbox.close();
    await this.#next.close();
  }

  async #appendNow(bytes: Buffer): Promise<AppendedFrame> {
    const start = this.#size;
    await this.#storeNext(start, bytes).catch((cause: unknown) => {
      throw notWritten(cause);
    });
    await this.#write(bytes, start);
    return { start, end: start + bytes.length };
  }

  async #storeNext(start: number, bytes: Buffer): Promise<void> {
    const head = Buffer.from(`${JSON.stringify({ start, length: bytes.length, sha256: hashOf(bytes) })}\n`);
    const record = Buffer.concat([head, bytes]);
    if (this.#nextLength > record.length) await this.#next.truncate(record.length);
    for (let at = 0; at < record.length;)
      at += (await this.#next.write(record, at, record.length - at, at)).bytesWritten;
    this.#nextLength = record.length;
  }

  /** Appends all of `bytes`; begun, it goes on until it is done. */
  async #write(bytes: Buffer, start: number): Promise<void> {
    while (this.#size < start + bytes.length) {
      const at = this.#size - start;
      try {
        this.#size += (await this.#inbox.write(bytes, at, bytes.length - at)).bytesWritten;
      } catch (cause) {
        this.#size = (await this.#inbox.stat()).size;
        if (this.#size === start || this.#isClosing) throw notWritten(cause);
        await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
      }
    }
  }

  async #completeTornFrame(): Promise<void> {
    if (this.#size === 0) return;
    const last = Buffer.alloc(1);
    await this.#inbox.read(last, 0, 1, this.#size - 1);
    if (last[0] === newline[0]) return;
    const next = await this.#readNext();
    if (next && next.start < this.#size && this.#size < next.start + next.bytes.length)
      return this.#write(next.bytes, next.start);
    // Not a frame of ours that we still know: end the line, so that the next frame is not glued to it.
    await this.#write(newline, this.#size);
  }

  async #readNext(): Promise<{ start: number; bytes: Buffer } | undefined> {
    const record = Buffer.alloc((await this.#next.stat()).size);
    await this.#next.read(record, 0, record.length, 0);
    const endOfHead = record.subarray(0, maxHeadBytes).indexOf(10);
    if (endOfHead < 0) return undefined;
    try {
      const head = JSON.parse(record.toString('latin1', 0, endOfHead)) as {
        start: number;
        length: number;
        sha256: string;
      };
      const bytes = record.subarray(endOfHead + 1, endOfHead + 1 + head.length);
      return hashOf(bytes) === head.sha256 ? { start: head.start, bytes } : undefined;
    } catch {
      return undefined;
    }
  }
}

function notWritten(cause: unknown): Fault {
  const message = 'the frame could not be appended; free some disk space and try again';
  return new Fault('inbox_write_failed', message, { retryable: true, cause });
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
