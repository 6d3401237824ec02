import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

import { Fault } from '../../kernel/index.ts';
import { newSecret } from './secrets.ts';

/**
 * The operator CLI's token of this instance: read from `file`, made when missing (mode 0600). Throws `Fault`
 * `operator_token_exposed` when others can read it: then it is no secret any more.
 */
export function ensureOperatorToken(file: string): string {
  const known = readOperatorToken(file);
  if (known !== undefined) return known;
  const token = newSecret();
  const temporary = `${file}.${process.pid}.new`;
  const fd = openSync(temporary, 'wx', 0o600);
  try {
    fchmodSync(fd, 0o600);
    writeSync(fd, `${token}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
  return token;
}

/** The token in `file`, or `undefined` when there is none. */
export function readOperatorToken(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { mode } = fstatSync(fd);
    if ((mode & 0o077) !== 0) {
      throw new Fault(
        'operator_token_exposed',
        `Others can read ${file} (mode ${(mode & 0o777).toString(8)}): remove it and start the server again to get a new one.`,
      );
    }
    const token = readFileSync(fd, 'utf8').trim();
    return token === '' ? undefined : token;
  } finally {
    closeSync(fd);
  }
}
