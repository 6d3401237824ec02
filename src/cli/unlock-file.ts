import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { sha256 } from '../kernel/index.ts';

/**
 * Where the token of an open terminal lies: in the user's runtime folder, which no sandbox shows and which ends with the
 * log-in (design 4). Where there is none, a private folder under the temporary folder.
 */
export function unlockFileOf(home: string, env: NodeJS.ProcessEnv): string {
  const uid = process.getuid?.() ?? 0;
  const runtime = env.XDG_RUNTIME_DIR;
  const folder = runtime?.startsWith('/') ? join(runtime, 'chantier') : join(tmpdir(), `chantier-unlock-${uid}`);
  return join(folder, `${sha256(home).slice(0, 16)}.unlock`);
}

/** The token in the file, unless others could have put or read it there. */
export function readUnlock(file: string): string | undefined {
  try {
    const { uid, mode } = statSync(file);
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return undefined;
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the token, mode 0600 in a folder of mode 0700. */
export function writeUnlock(file: string, token: string): void {
  const folder = join(file, '..');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) throw new Error(`${folder} is not private to this user`);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** Forgets the token; safe when there is none. */
export function removeUnlock(file: string): void {
  rmSync(file, { force: true });
}
