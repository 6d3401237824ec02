import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ok, type Result } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { type GitPlace, readStatus, runGit } from '../git/index.ts';
import { baseTip, objectFormatIn } from '../local/bare-repository.ts';
import { commitsAhead } from '../local/changed-files.ts';
import type { ForgeRepository } from '../repository.ts';
import { fetchFromClone } from './fetch-from-clone.ts';
import { skipOutside, sparseFolders, sparseSettings } from './sparse.ts';
import { unreadable } from './take-branch.ts';
import { excludeFile, type InSandbox, type WorkFolder } from './work-folder.ts';

/** What a work folder holds, as seen from outside. Paths relative to the clone. */
export interface WorkFolderFacts {
  /** Branch that is checked out now; an author may have left its own. */
  headBranch: string | undefined;
  headCommit: string | undefined;
  /** Commit of the folder's own branch. */
  branchCommit: string | undefined;
  isOnBranch: boolean;
  /** Files that differ from HEAD, and untracked ones that no pattern ignores. */
  dirty: string[];
  isClean: boolean;
  /** Commits of HEAD that the base does not have. */
  ahead: number;
  hasStash: boolean;
}

/**
 * Looks at a work folder: refs through upload-pack inside the sandbox, files by an index and git folder of the server's own,
 * so that neither hooks, filters, fsmonitor nor the agent's index have a say. Writes nothing there. Refuses `clone_unreadable`.
 */
export async function inspectWorkFolder(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  inside: InSandbox,
): Promise<Result<WorkFolderFacts>> {
  let refs;
  try {
    refs = await fetchFromClone(forge, repository, folder, inside);
  } catch (error) {
    return unreadable(folder, error);
  }
  const dirty = await withServerIndex(forge, repository, folder, refs.headCommit, async (place) => {
    const status = await readStatus(forge.git, place);
    return [...new Set([...status.staged, ...status.unstaged, ...status.unmerged, ...status.untracked])].toSorted();
  });
  const base = await baseTip(forge, repository);
  return ok({
    headBranch: refs.headBranch,
    headCommit: refs.headCommit,
    branchCommit: folder.branch === undefined ? undefined : refs.refs.get(`refs/heads/${folder.branch}`),
    isOnBranch: folder.branch !== undefined && refs.headBranch === folder.branch,
    dirty,
    isClean: dirty.length === 0,
    ahead: base && refs.headCommit ? await commitsAhead(forge, repository, base, refs.headCommit) : 0,
    hasStash: refs.refs.has('refs/stash'),
  });
}

/**
 * Runs `fn` with a place that compares the clone's files with `head` (which is in the forge; `undefined` = nothing). The
 * index is kept beside the clone, so that unchanged files need not be read again.
 */
export function withServerIndex<T>(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  head: string | undefined,
  fn: (place: GitPlace) => Promise<T>,
): Promise<T> {
  return forge.turns.run(`index ${folder.ownerKey}`, () => inServerIndex(forge, repository, folder, head, fn));
}

async function inServerIndex<T>(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  head: string | undefined,
  fn: (place: GitPlace) => Promise<T>,
): Promise<T> {
  await mkdir(forge.folders.scratch, { recursive: true, mode: 0o700 });
  const gitDir = await mkdtemp(join(forge.folders.scratch, 'look-'));
  const place: GitPlace = { gitDir, workTree: folder.clone, indexFile: join(folder.root, 'server-index') };
  try {
    // Ours alone by the turn; a lock is what a killed git left.
    await rm(join(folder.root, 'server-index.lock'), { force: true });
    await mkdir(join(gitDir, 'refs'));
    await mkdir(join(gitDir, 'objects', 'info'), { recursive: true });
    await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${join(repository.forgeDir, 'objects')}\n`);
    await writeFile(join(gitDir, 'HEAD'), head ? `${head}\n` : 'ref: refs/heads/none\n');
    const isSha256 = (await objectFormatIn(repository)) === 'sha256';
    const config = `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = false\n\texcludesFile = ${JSON.stringify(excludeFile(folder))}\n`;
    await writeFile(join(gitDir, 'config'), isSha256 ? `${config}[extensions]\n\tobjectformat = sha256\n` : config);
    const sparse = await sparseFolders(folder);
    if (sparse) await appendFile(join(gitDir, 'config'), sparseSettings);
    if (head) await runGit(forge.git, place, ['read-tree', '-i', '-m', head]);
    else await rm(join(folder.root, 'server-index'), { force: true });
    if (head && sparse) await skipOutside(forge.git, place, sparse);
    await runGit(forge.git, place, ['update-index', '-q', '--refresh'], { answers: [0, 1], timeoutMs: 300_000 });
    return await fn(place);
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}

/** Whether the folder's clone is there at all. */
export async function hasClone(folder: Pick<WorkFolder, 'clone'>): Promise<boolean> {
  return readdir(folder.clone).then(
    () => true,
    () => false,
  );
}
