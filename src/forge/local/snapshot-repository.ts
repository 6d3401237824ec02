import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { gitText, runGit } from '../git/index.ts';

/** Looks at the object store while it is being packed before the copy is given up. */
const maxLooks = 5;

/**
 * Copies a bare repository of the forge beside everything that writes to it. The refs are read first: objects only ever come,
 * so whatever they name is there when the objects are copied. `copy` takes one file, `makeFolder` one folder, both by the path in
 * the repository, parents first; `addText` writes a file of its own. `packed-refs` of the copy holds the refs.
 */
export async function snapshotRepository(
  forge: Forge,
  gitDir: string,
  target: {
    makeFolder(path: string): Promise<void>;
    copy(path: string): Promise<void>;
    addText(path: string, text: string): Promise<void>;
  },
): Promise<void> {
  const refs = await gitText(forge.git, { gitDir }, ['for-each-ref', '--format=%(objectname) %(refname)']);
  const folders = new Set<string>();
  const files = new Set<string>();
  for (let look = 1; ; look++) {
    if (await copyNew(gitDir, target, { folders, files })) break;
    if (look === maxLooks)
      throw new Fault('backup_failed', `${gitDir} changes all the time: try again later.`, { retryable: true });
  }
  for (const folder of ['refs', 'refs/heads', 'refs/tags', 'objects', 'objects/info', 'objects/pack'])
    if (!folders.has(folder)) await target.makeFolder(folder);
  await target.addText('packed-refs', refs === '' ? '' : `${refs}\n`);
}

/** Whether every object that the refs of a repository reach is there; throws `Fault` otherwise. */
export async function checkConnected(forge: Forge, gitDir: string): Promise<void> {
  await runGit(forge.git, { gitDir }, ['rev-list', '--objects', '--all', '--quiet'], { timeoutMs: 1_800_000 });
}

/** Copies what was not copied yet; false when something went away meanwhile (it was packed), so that another look is due. */
async function copyNew(
  gitDir: string,
  target: { makeFolder(path: string): Promise<void>; copy(path: string): Promise<void> },
  seen: { folders: Set<string>; files: Set<string> },
): Promise<boolean> {
  let isWhole = true;
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(gitDir, folder), { withFileTypes: true }).catch(gone)) {
      const path = join(folder, entry.name);
      if (isPassing(path)) continue;
      if (entry.isDirectory()) {
        if (!seen.folders.has(path)) await target.makeFolder(path);
        seen.folders.add(path);
        await walk(path);
      } else if (entry.isFile() && !seen.files.has(path)) {
        const isCopied = await target.copy(path).then(() => true, gone);
        if (isCopied === true) seen.files.add(path);
        else isWhole = false;
      }
    }
  };
  await walk('');
  return isWhole;
}

/** Refs come from the list that was read first; locks and half-written files are nobody's. */
function isPassing(path: string): boolean {
  return /^(?:refs|logs|packed-refs|FETCH_HEAD)(?:\/|$)|\.lock$|(?:^|\/)\.?tmp[-_]/.test(path);
}

function gone(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
