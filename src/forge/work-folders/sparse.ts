import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Git, GitPlace } from '../git/index.ts';
import { gitRecords, runGit } from '../git/index.ts';
import type { WorkFolder } from './work-folder.ts';

/** Settings of a git folder that shows only some folders of a repository. */
export const sparseSettings = '[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n';

/** Makes `gitDir` sparse before its files are written; remembered beside the clone, where no agent can change it. */
export async function makeSparse(
  folder: Pick<WorkFolder, 'root'>,
  gitDir: string,
  folders: readonly string[],
): Promise<void> {
  await writeFile(join(folder.root, 'sparse.json'), JSON.stringify(folders));
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeFile(join(gitDir, 'info', 'sparse-checkout'), conePatterns(folders));
}

/** The folders that a work folder was limited to; `undefined` = it holds everything. */
export async function sparseFolders(folder: Pick<WorkFolder, 'root'>): Promise<string[] | undefined> {
  const text = await readFile(join(folder.root, 'sparse.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as string[]);
}

/** Marks what a sparse clone leaves out in an index of the server's own, so that it does not count as deleted. */
export async function skipOutside(git: Git, place: GitPlace, folders: readonly string[]): Promise<void> {
  const paths = await gitRecords(git, place, ['ls-files', '-z'], { maxOutputBytes: 256 * 1024 ** 2 });
  const outside = paths.filter((path) => !isInCone(path, folders));
  if (outside.length === 0) return;
  const input = outside.map((path) => `${path}\0`).join('');
  await runGit(git, place, ['update-index', '-z', '--skip-worktree', '--stdin'], { input });
}

/** Whether git's cone mode shows `path`: below one of `folders`, or a file directly in a folder above one. */
export function isInCone(path: string, folders: readonly string[]): boolean {
  const above = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
  return above === '' || folders.some((one) => path.startsWith(`${one}/`) || `${one}/`.startsWith(above));
}

function conePatterns(folders: readonly string[]): string {
  const lines = ['/*', '!/*/'];
  const seen = new Set<string>();
  for (const folder of folders) {
    const parts = folder.split('/').map((part) => part.replaceAll(/[\\*?[\]]/g, (char) => `\\${char}`));
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const path = `/${parts.slice(0, depth).join('/')}/`;
      const isLast = depth === parts.length;
      if (!seen.has(path) || isLast) lines.push(path);
      if (!isLast && !seen.has(path)) lines.push(`!${path}*/`);
      seen.add(path);
    }
  }
  return `${lines.join('\n')}\n`;
}
