import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { readSecretFile, writeSecretFile } from '../access/index.ts';

/**
 * The key of evidence exports in `keys/evidence.key`: one line of 64 hex characters, mode 0600, made at the first export and on disk
 * before one is given (S-63). Throws `Fault` `evidence_key_unusable` when others can read it or it holds something else.
 */
export function ensureEvidenceKey(keysFolder: string): string {
  const file = join(keysFolder, 'evidence.key');
  const known = readSecretFile(file, () =>
    unusable(
      `Others can read ${file}. If nobody has, \`chmod 600\` it; else move it to a safe place (earlier exports are proved with it) and export again under a new one.`,
    ),
  );
  if (known === undefined) return makeKey(file);
  if (!/^[0-9a-f]{64}$/.test(known))
    throw unusable(`${file} is no key: put it back from a backup, or move it away and export again under a new one.`);
  return known;
}

function makeKey(file: string): string {
  const key = randomBytes(32).toString('hex');
  writeSecretFile(file, key);
  return key;
}

function unusable(message: string): Fault {
  return new Fault('evidence_key_unusable', message);
}
