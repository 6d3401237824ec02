import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';

/**
 * The key of evidence exports in `keys/evidence.key`: one line of 64 hex characters, mode 0600, made at the first export and on disk
 * before one is given (S-63). Throws `Fault` `evidence_key_unusable` when others can read it or it holds something else.
 */
export function ensureEvidenceKey(keysFolder: string): string {
  const file = join(keysFolder, 'evidence.key');
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return makeKey(keysFolder, file);
  if ((mode & 0o077) !== 0)
    throw unusable(
      `Others can read ${file}. If nobody has, \`chmod 600\` it; else move it to a safe place (earlier exports are proved with it) and export again under a new one.`,
    );
  const key = readFileSync(file, 'utf8').trim();
  if (!/^[0-9a-f]{64}$/.test(key))
    throw unusable(`${file} is no key: put it back from a backup, or move it away and export again under a new one.`);
  return key;
}

function makeKey(folder: string, file: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const key = randomBytes(32).toString('hex');
  // What an earlier process that died here left.
  rmSync(`${file}.new`, { force: true });
  const fd = openSync(`${file}.new`, 'wx', 0o600);
  try {
    fchmodSync(fd, 0o600);
    writeSync(fd, `${key}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.new`, file);
  const entry = openSync(folder, 'r');
  fsyncSync(entry);
  closeSync(entry);
  return key;
}

function unusable(message: string): Fault {
  return new Fault('evidence_key_unusable', message);
}
