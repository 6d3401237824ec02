import { open } from 'node:fs/promises';

const newline = 10;

/**
 * Where the last `lines` whole lines of an append-only file begin. Looks back over at most `maxBytes` (default 4 MiB): fewer
 * lines where they are longer, none where the last one alone is.
 */
export async function findTail(path: string, lines: number, maxBytes = 4 * 1024 * 1024): Promise<number> {
  const { bytes, start, end } = await readEnd(path, maxBytes);
  const lastNewline = bytes.lastIndexOf(newline);
  if (lastNewline < 0) return start === 0 ? 0 : end;
  let at = lastNewline;
  for (let found = 0; found < lines && at >= 0; found += 1) at = at === 0 ? -1 : bytes.lastIndexOf(newline, at - 1);
  // Before the window there may be the rest of a line that was cut by it.
  if (at < 0 && start > 0) at = bytes.indexOf(newline);
  return start + at + 1;
}

/** Where the last line that begins with `prefix` begins, within the last `maxBytes`; else where the first whole line of these does. */
export async function findLastLine(path: string, prefix: string, maxBytes: number): Promise<number> {
  const { bytes, start, end } = await readEnd(path, maxBytes);
  const found = bytes.lastIndexOf(`\n${prefix}`);
  if (found >= 0) return start + found + 1;
  if (start === 0) return 0;
  const first = bytes.indexOf(newline);
  return first < 0 ? end : start + first + 1;
}

async function readEnd(path: string, maxBytes: number): Promise<{ bytes: Buffer; start: number; end: number }> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return { bytes: bytes.subarray(0, bytesRead), start: size - bytes.length, end: size - bytes.length + bytesRead };
  } finally {
    await file.close();
  }
}
