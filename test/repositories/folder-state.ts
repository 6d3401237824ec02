import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Every entry of a folder with kind, mode and content hash: index, refs, reflogs, stash, configuration and files. What must
 * not change is compared with this. `skip` leaves out paths that begin so (relative).
 */
export function folderState(folder: string, skip: readonly string[] = []): Record<string, string> {
  const state: Record<string, string> = {};
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(folder, relative)).toSorted()) {
      const path = relative === '' ? name : `${relative}/${name}`;
      if (skip.some((one) => path === one || path.startsWith(`${one}/`))) continue;
      const entry = lstatSync(join(folder, path));
      const mode = (entry.mode & 0o7777).toString(8);
      if (entry.isDirectory()) {
        state[path] = `folder ${mode}`;
        walk(path);
      } else if (entry.isSymbolicLink()) state[path] = `link ${readlinkSync(join(folder, path))}`;
      else if (entry.isFile())
        state[path] = `file ${mode} ${createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex')}`;
      else state[path] = `special ${mode}`;
    }
  };
  walk('');
  return state;
}
