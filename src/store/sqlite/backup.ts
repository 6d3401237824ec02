import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

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
  copyDatabase(database, file);
  const old = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.db'))
    .toSorted((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1))
    .slice(kept);
  for (const name of old) rmSync(join(folder, name));
  return file;
}

/** Writes a consistent copy into a new file; throws when the file exists. */
export function copyDatabase(database: DatabaseSync, file: string): void {
  database.prepare('VACUUM INTO ?').run(file);
}

function stampOf(name: string): string {
  return name.slice(-'YYYY-MM-DDTHH-MM-SS-mmmZ.db'.length);
}
