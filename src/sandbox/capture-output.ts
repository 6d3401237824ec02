import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Readable } from 'node:stream';

export interface CaptureOptions {
  outputPath?: string;
  maxOutputBytes?: number;
  tailBytes?: number;
}

export interface CapturedOutput {
  /** Waits for the streams to close (at most 1 s: a process outside a sandbox may hold them), then gives what came. */
  finish(): Promise<{ tail: string; bytes: number }>;
}

/** Keeps the last bytes of `streams` and writes all, up to a bound, to a file; what lies beyond is counted and dropped. */
export function captureOutput(streams: readonly Readable[], options: CaptureOptions): CapturedOutput {
  const maxOutputBytes = options.maxOutputBytes ?? 64 * 1024 ** 2;
  const tail = keepTail(options.tailBytes ?? 64 * 1024);
  const file = options.outputPath === undefined ? undefined : createWriteStream(options.outputPath, { mode: 0o600 });
  let bytes = 0;
  for (const stream of streams) {
    stream.on('data', (chunk: Buffer) => {
      const room = maxOutputBytes - bytes;
      bytes += chunk.length;
      tail.add(chunk);
      if (file && room > 0 && !file.write(chunk.subarray(0, room))) {
        stream.pause();
        file.once('drain', () => stream.resume());
      }
    });
  }
  return {
    async finish() {
      await Promise.race([Promise.all(streams.map(closed)), pause(1_000)]);
      for (const stream of streams) stream.destroy();
      if (file) {
        file.end();
        await finished(file);
      }
      return { tail: tail.text(), bytes };
    },
  };
}

function keepTail(tailBytes: number) {
  let kept: Buffer[] = [];
  let length = 0;
  const squeeze = (): Buffer => {
    const all = Buffer.concat(kept);
    const last = all.subarray(Math.max(0, all.length - tailBytes));
    kept = [last];
    length = last.length;
    return last;
  };
  return {
    add(chunk: Buffer): void {
      kept.push(chunk);
      length += chunk.length;
      if (length > 2 * tailBytes + 65_536) squeeze();
    },
    text: (): string => squeeze().toString('utf8'),
  };
}

function closed(stream: Readable): Promise<void> {
  return finished(stream).catch(() => {});
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
