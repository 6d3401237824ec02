import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** The text in `file` (of an empty one `''`), or `undefined` when there is none. One that others can read is no secret any more: `exposed` makes the fault. */
export function readSecretFile(file: string, exposed: (mode: string) => Error): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const mode = fstatSync(fd).mode & 0o777;
    if ((mode & 0o077) !== 0) throw exposed(mode.toString(8));
    return readFileSync(fd, 'utf8').trim();
  } finally {
    closeSync(fd);
  }
}

/** Puts `text` into `file` with mode 0600, whole or not at all, and on the disk before it returns. */
export function writeSecretFile(file: string, text: string): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}.new`;
  // What an earlier process of this number that died here left.
  rmSync(unfinished, { force: true });
  const fd = openSync(unfinished, 'wx', 0o600);
  try {
    fchmodSync(fd, 0o600);
    writeSync(fd, `${text}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(unfinished, file);
  const entry = openSync(folder, 'r');
  fsyncSync(entry);
  closeSync(entry);
}
