import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Forge } from './forge.ts';
import { runGit } from './git/index.ts';
import { forgePlace, type ForgeRepository } from './repository.ts';

const staleMs = 60_000;
const largestWaitMs = 200;

/**
 * Clears what a killed server left behind, at start and before anything uses the forge: lock files of the bare repositories,
 * views and wrappers, half-removed work folders. Only what is older than a minute goes, because a git command may outlive
 * its server. Gives the paths that were removed.
 */
export async function recoverForge(forge: Forge): Promise<string[]> {
  const removed: string[] = [];
  const remove = async (path: string): Promise<void> => {
    const entry = await lstat(path).catch(() => undefined);
    if (!entry || Date.now() - entry.mtimeMs < staleMs) return;
    await rm(path, { recursive: true, force: true });
    removed.push(path);
  };
  for (const name of await list(forge.folders.forge)) {
    const gitDir = join(forge.folders.forge, name);
    if (name.startsWith('.new-')) await remove(gitDir);
    else if (name.endsWith('.git')) for (const lock of await locksIn(gitDir)) await remove(lock);
  }
  for (const name of await list(forge.folders.scratch)) await remove(join(forge.folders.scratch, name));
  // Trees of dependencies take minutes on a busy disk; a start waits for them no longer than a moment.
  const trees = removeTrees(forge, remove).catch(() => {});
  await Promise.race([trees, sleep(largestWaitMs, undefined, { ref: false })]);
  return removed;
}

async function removeTrees(forge: Forge, remove: (path: string) => Promise<void>): Promise<void> {
  for (const name of await list(forge.folders.work))
    if (name.startsWith('.trash-')) await remove(join(forge.folders.work, name));
  const kept = join(forge.folders.work, '.set-up');
  for (const repository of await list(kept))
    for (const name of await list(join(kept, repository)))
      if (name.startsWith('new-')) await remove(join(kept, repository, name));
}

/**
 * Packs loose objects and refs of a bare repository. Deletes no object that is not in a pack: clones borrow them. Call it
 * now and then from an idle loop.
 */
export async function packForge(forge: Forge, repository: ForgeRepository): Promise<void> {
  const place = forgePlace(repository);
  await runGit(forge.git, place, ['repack', '--quiet', '-d', '-l', '--geometric=2'], {
    timeoutMs: 1_800_000,
    umask: '022',
  });
  await runGit(forge.git, place, ['pack-refs', '--all'], { timeoutMs: 60_000 });
}

async function locksIn(gitDir: string): Promise<string[]> {
  const top = ['packed-refs.lock', 'HEAD.lock', 'config.lock', 'shallow.lock'].map((name) => join(gitDir, name));
  const refs = await readdir(join(gitDir, 'refs'), { recursive: true }).catch(() => []);
  return [...top, ...refs.filter((name) => name.endsWith('.lock')).map((name) => join(gitDir, 'refs', name))];
}

function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
