import { lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Makes the folders in which `path` (relative) lies in a clone. Undefined where a symlink or a file is in the way: the commit
 * may be an agent's, and whatever the server did behind its link would be done outside. Else the topmost new folder, if any.
 */
export async function makeParents(clone: string, path: string): Promise<{ firstNew: string | undefined } | undefined> {
  const found = await lookAtParents(clone, path);
  if (found === 'blocked') return undefined;
  const parent = dirname(join(clone, path));
  return { firstNew: found === 'there' ? undefined : await mkdir(parent, { recursive: true }) };
}

/** Whether the folders in which `path` lies are there, can be made, or are `blocked` by something that is no folder. */
export async function lookAtParents(clone: string, path: string): Promise<'there' | 'missing' | 'blocked'> {
  let place = clone;
  for (const name of dirname(path).split('/')) {
    if (name === '..') return 'blocked';
    if (name === '' || name === '.') continue;
    place = join(place, name);
    const entry = await lstat(place).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (!entry) return 'missing';
    if (!entry.isDirectory()) return 'blocked';
  }
  return 'there';
}
