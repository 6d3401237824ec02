import { mkdirSync, mkdtempSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Unix sockets take a path of at most 107 bytes; what comes below the run folder needs some 40 of them. */
const longestRunFolder = 60;

/**
 * The folder for sockets of the instance, mode 0700: `<home>/run`, or, when that is too long for a socket's path, a short
 * private folder under the temporary folder whose name is kept in `<home>/run-folder`. Made when missing.
 */
export function ensureRunFolder(home: string): string {
  const own = join(home, 'run');
  if (Buffer.byteLength(own) <= longestRunFolder) {
    mkdirSync(own, { recursive: true, mode: 0o700 });
    return own;
  }
  const known = runFolderOf(home);
  if (known !== undefined) return known;
  const short = mkdtempSync(join(tmpdir(), 'chantier-'));
  const record = join(home, 'run-folder');
  writeFileSync(`${record}.new`, `${short}\n`, { mode: 0o600 });
  renameSync(`${record}.new`, record);
  return short;
}

/** The run folder of a home where there is one; for reading only. Of a short folder, the owner must be this user. */
export function runFolderOf(home: string): string | undefined {
  const own = join(home, 'run');
  if (Buffer.byteLength(own) <= longestRunFolder) return own;
  try {
    const short = readFileSync(join(home, 'run-folder'), 'utf8').trim();
    const { uid, mode } = statSync(short);
    const isPrivate = uid === process.getuid?.() && (mode & 0o077) === 0;
    return isPrivate ? short : undefined;
  } catch {
    return undefined;
  }
}

/** The operator CLI's socket: `<home>/sock`, or in the run folder when that path is too long. */
export function operatorSocketOf(home: string): string | undefined {
  const own = join(home, 'sock');
  if (Buffer.byteLength(own) <= 100) return own;
  const folder = runFolderOf(home);
  return folder === undefined ? undefined : join(folder, 'sock');
}
