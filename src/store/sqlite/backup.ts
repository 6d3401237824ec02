import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';

import { Fault } from '../../kernel/index.ts';
import { genesisHash } from '../events.ts';
import { checkIntegrity } from './check-integrity.ts';
import { toFault } from './faults.ts';

const prefix = 'before-';
/** So many backups made before migrations are kept. */
const kept = 5;

/**
 * Writes a consistent, compact copy of the open database into `folder` (made with mode 0700) before `migration` changes
 * it; gives its path. Older such copies beyond the newest 5 are removed.
 */
export function backUpBefore(database: DatabaseSync, folder: string, migration: string, at: number): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date(at).toISOString().replaceAll(/[:.]/g, '-');
  const file = join(folder, `${prefix}${migration}-${stamp}.db`);
  database.prepare('VACUUM INTO ?').run(file);
  const old = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.db'))
    .toSorted((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1))
    .slice(kept);
  for (const name of old) rmSync(join(folder, name));
  return file;
}

/**
 * Writes a consistent copy of the database in `file` into `target`, step by step beside the server that writes to it, and
 * checks the copy. Throws `Fault` when it cannot be written or is not sound.
 */
export async function backUpDatabase(file: string, target: string): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    await backup(source, target, { rate: 1000 });
  } catch (error) {
    throw toFault(error, target);
  } finally {
    source.close();
  }
  const wrong = await checkIntegrity(target);
  if (wrong.length > 0)
    throw new Fault('backup_damaged', `The copy ${target} is not sound (${wrong[0]}); do not use it.`);
  const copy = openSync(target, 'r+');
  try {
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
}

/** The head of the chain of events in a copy. Leaves no companion of the file behind. */
export function readCopiedHead(file: string): { seq: number; hash: string } {
  const copy = new DatabaseSync(file);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
    const head = copy.prepare('select seq, hash from event where seq is not null order by seq desc limit 1').get();
    return (head as { seq: number; hash: string } | undefined) ?? { seq: 0, hash: genesisHash };
  } finally {
    copy.close();
  }
}

function stampOf(name: string): string {
  return name.slice(-'YYYY-MM-DDTHH-MM-SS-mmmZ.db'.length);
}
