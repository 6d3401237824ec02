import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const chunkBytes = 1024 * 1024;
const zeros = Buffer.alloc(chunkBytes);

/**
 * Copies one regular file as far as it reaches now and gives size and SHA-256 of what was copied. Holes stay holes, the copy is on
 * the disk when this returns, and a link is followed neither way. Without `to` it only reads.
 */
export async function copyFile(
  from: string,
  to: string | undefined,
  mode = 0o600,
): Promise<{ size: number; sha256: string }> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await source.stat();
    if (!found.isFile()) throw new Error(`${from} is no regular file`);
    const target = to === undefined ? undefined : await open(to, 'wx', 0o600);
    try {
      const hash = createHash('sha256');
      const buffer = Buffer.allocUnsafe(chunkBytes);
      let size = 0;
      while (size < found.size) {
        const { bytesRead } = await source.read(buffer, 0, Math.min(chunkBytes, found.size - size), size);
        if (bytesRead === 0) break;
        const chunk = buffer.subarray(0, bytesRead);
        hash.update(chunk);
        if (target && !chunk.equals(zeros.subarray(0, bytesRead))) await writeWhole(target, chunk, size);
        size += bytesRead;
      }
      if (target) {
        await target.truncate(size);
        await target.chmod(mode);
        await target.sync();
      }
      return { size, sha256: hash.digest('hex') };
    } finally {
      await target?.close();
    }
  } finally {
    await source.close();
  }
}

/** Writes a new file that is on the disk when this returns. */
export async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes what was renamed into or out of a folder last. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function writeWhole(target: Awaited<ReturnType<typeof open>>, chunk: Buffer, position: number): Promise<void> {
  let done = 0;
  while (done < chunk.length) {
    const { bytesWritten } = await target.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}
