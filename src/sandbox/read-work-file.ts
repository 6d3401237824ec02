import { constants, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';

import { ok, refuse, type Result } from '../kernel/index.ts';

/** What was read of a file that an agent could write. */
export interface WorkFile {
  bytes: Buffer;
  /** The file is longer than was asked for. */
  isTruncated: boolean;
  sizeBytes: number;
}

/**
 * Reads at most `maxBytes` of `relative` in the work folder `root`, the only way in which the server reads there (X-9,
 * design 4): never blocks on a FIFO, follows no link out of the folder, reads regular files only. Refuses `not-found` when
 * there is no such file and `invalid` (`work_file_unsafe`) for everything that is not plainly a file of this folder.
 */
export async function readWorkFile(root: string, relative: string, maxBytes: number): Promise<Result<WorkFile>> {
  const path = normalize(relative);
  if (isAbsolute(path) || path === '..' || path.startsWith(`..${sep}`) || relative.includes('\0'))
    return unsafe(relative, 'leads out of the work folder');
  const opened = await openWithoutWaiting(join(root, path));
  if (opened === 'missing')
    return refuse('not-found', 'work_file_missing', `There is no file ${relative} in the work folder.`);
  if (opened === 'link') return unsafe(relative, 'is a symbolic link or lies behind one');
  try {
    const found = await opened.stat();
    if (!found.isFile()) return unsafe(relative, 'is not a regular file');
    if (!isInside(opened, join(root, path), root))
      return unsafe(relative, 'leads out of the work folder through a link');
    const bytes = Buffer.alloc(Math.min(maxBytes, found.size));
    const { bytesRead } = await readFully(opened, bytes);
    return ok({ bytes: bytes.subarray(0, bytesRead), isTruncated: found.size > maxBytes, sizeBytes: found.size });
  } finally {
    await opened.close();
  }
}

async function openWithoutWaiting(path: string): Promise<FileHandle | 'missing' | 'link'> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    // ENXIO: a socket; ELOOP: a link; EACCES: closed by the agent. None of them is a file to read.
    if (code === 'ELOOP' || code === 'EMLINK' || code === 'ENXIO' || code === 'EACCES') return 'link';
    throw error;
  }
}

/** Where the open file really lies; asked of the descriptor, so that no later exchange of a folder matters. */
function isInside(opened: FileHandle, path: string, root: string): boolean {
  const realRoot = realpathSync(root);
  const real = process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${opened.fd}`) : realpathSync(path);
  return real.startsWith(realRoot + sep) && lstatSync(realRoot).isDirectory();
}

async function readFully(opened: FileHandle, into: Buffer): Promise<{ bytesRead: number }> {
  let bytesRead = 0;
  while (bytesRead < into.length) {
    const step = await opened.read(into, bytesRead, into.length - bytesRead, bytesRead);
    if (step.bytesRead === 0) break;
    bytesRead += step.bytesRead;
  }
  return { bytesRead };
}

function unsafe(relative: string, why: string) {
  return refuse('invalid', 'work_file_unsafe', `${JSON.stringify(relative)} is not read: it ${why}.`);
}
