import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import type { ReadableEntry } from '../readable/frame.ts';
import type { LineAnswer, LineRequest } from './line-reader.ts';

/** From this length on a line is read in a thread of its own: nested deep enough, 1 MiB holds the reader for a tenth of a second. */
const apartBytes = 32 * 1024;
/** A thread that has nothing to do for so long is ended (ms). */
const idleMs = 10_000;

let reader: { worker: Worker; waiting: Map<number, Waiting>; idle: NodeJS.Timeout | undefined } | undefined;
let count = 0;

interface Waiting {
  resolve: (answer: LineAnswer) => void;
  reject: (error: Error) => void;
}

/** Whether a line is better read by `readApart`. */
export function isLong(bytes: Buffer): boolean {
  return bytes.length >= apartBytes;
}

/** As `readableEntries`, in a thread of its own; what it gives is handed over in pieces, a turn of the event loop for each. */
export async function readApart(bytes: Buffer): Promise<ReadableEntry[]> {
  const id = (count += 1);
  const entries: ReadableEntry[] = [];
  // A copy: the window that it lies in is used again.
  let answer = await ask({ id, bytes: Uint8Array.from(bytes) });
  for (;;) {
    for (const entry of answer.entries) entries.push(entry);
    if (!answer.hasMore) return entries;
    answer = await ask({ id });
  }
}

function ask(request: LineRequest): Promise<LineAnswer> {
  const { worker, waiting, idle } = (reader ??= start());
  clearTimeout(idle);
  return new Promise((resolve, reject) => {
    waiting.set(request.id, { resolve, reject });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    worker.postMessage(request);
  });
}

function start(): NonNullable<typeof reader> {
  const worker = new Worker(programFile(), { env: {}, execArgv: ['--disable-warning=ExperimentalWarning'] });
  const made: NonNullable<typeof reader> = { worker, waiting: new Map(), idle: undefined };
  // It keeps no process alive; whoever waits for an answer does, by what it waits in.
  worker.unref();
  worker.on('message', (answer: LineAnswer) => {
    made.waiting.get(answer.id)?.resolve(answer);
    made.waiting.delete(answer.id);
    if (made.waiting.size === 0) made.idle = setTimeout(() => void end(made), idleMs).unref();
  });
  worker.once('error', (error) => fail(made, error as Error));
  worker.once('exit', (code) => fail(made, new Error(`the reader of long lines ended with ${code}`)));
  return made;
}

function fail(made: NonNullable<typeof reader>, error: Error): void {
  if (reader === made) reader = undefined;
  for (const { reject } of made.waiting.values()) reject(error);
  made.waiting.clear();
}

function end(made: NonNullable<typeof reader>): Promise<number> | undefined {
  if (made.waiting.size > 0) return undefined;
  if (reader === made) reader = undefined;
  return made.worker.terminate();
}

/** Beside this file from sources; bundled, in `dist` or the folder above the chunk. */
function programFile(): string {
  const here = import.meta.dirname;
  const places = [join(here, 'line-reader.ts'), join(here, 'line-reader.js'), join(here, '..', 'line-reader.js')];
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the reader of long lines is not in ${here}: install the package again`);
  return found;
}
