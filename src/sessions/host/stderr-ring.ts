import { open, stat } from 'node:fs/promises';

/** The newest `maxBytes` of the rotating parts, as text; bytes that are not UTF-8 become U+FFFD. */
export async function readStderrTail(parts: readonly string[], maxBytes: number): Promise<string> {
  const known = await Promise.all(parts.map(describePart));
  const newestFirst = known
    .filter((part) => part !== undefined)
    .toSorted((a, b) => (a.changedNs > b.changedNs ? -1 : 1));
  const chunks: Buffer[] = [];
  let left = maxBytes;
  for (const part of newestFirst) {
    if (left === 0) break;
    const chunk = await readEnd(part.path, Math.min(left, part.size), part.size);
    chunks.unshift(chunk);
    left -= chunk.length;
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function describePart(path: string): Promise<{ path: string; size: number; changedNs: bigint } | undefined> {
  try {
    const { size, mtimeNs } = await stat(path, { bigint: true });
    return size === 0n ? undefined : { path, size: Number(size), changedNs: mtimeNs };
  } catch {
    return undefined;
  }
}

async function readEnd(path: string, length: number, size: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await file.read(buffer, 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
