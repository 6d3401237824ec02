import { open } from 'node:fs/promises';

/** The last `maxBytes` of a file as text, without reading what comes before; null when it cannot be read. */
export async function readTail(path: string, maxBytes: number): Promise<string | null> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const buffer = Buffer.alloc(Math.min(size, maxBytes));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}
