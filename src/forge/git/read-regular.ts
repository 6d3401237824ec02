import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/**
 * Reads a regular file that somebody else may have made: never blocks on a FIFO or device, never follows a symlink as last
 * part, reads at most `maxBytes`. `undefined` when it is missing, something else than a regular file, or larger.
 */
export async function readRegular(path: string, maxBytes = 1024 * 1024): Promise<Buffer | undefined> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    const content = await file.readFile();
    return content.length > maxBytes ? undefined : content;
  } finally {
    await file.close();
  }
}

/** As `readRegular`, as text without the newlines at its end. */
export async function readRegularText(path: string, maxBytes?: number): Promise<string | undefined> {
  return (await readRegular(path, maxBytes))?.toString('utf8').replace(/[\r\n]+$/, '');
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'EACCES'].includes(code ?? '');
}
