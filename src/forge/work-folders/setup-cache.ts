import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { digestOf } from '../../kernel/index.ts';
import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { gitText } from '../git/index.ts';
import { type ForgeRepository, forgePlace } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { copyTree } from './copy-tree.ts';
import { lookAtParents, makeParents } from './make-parents.ts';
import { spareOf, stockSpare, takeSpare } from './spare-setup.ts';
import type { WorkFolder } from './work-folder.ts';

/** A copy that takes longer than this, ms, is made ahead of the next folder. */
const slowCopyMs = 500;

/**
 * Names what the set-up of a commit makes: its commands and the content of the files it follows from (lockfiles, manifests).
 * `undefined` = there is nothing that may be cached.
 */
export async function setupKeyOf(
  forge: Forge,
  repository: ForgeRepository,
  config: Pick<RepositoryConfig, 'workspace'>,
  commit: string,
): Promise<string | undefined> {
  const { setup, cacheKey, isCacheable, env, copy, include, link } = config.workspace;
  if (setup.length === 0 || !isCacheable || cacheKey.length === 0) return undefined;
  const entries = await gitText(forge.git, forgePlace(repository), ['ls-tree', '-z', commit, '--', ...cacheKey]);
  return digestOf({
    setup,
    env,
    // Added later; left out where empty, so that what is kept goes on to fit.
    ...(copy.length > 0 || include || link ? { checkout: [copy, include ?? [], link ?? []] } : {}),
    entries: entries.split('\0').filter(Boolean),
    platform: `${process.platform}-${process.arch}`,
  }).slice(0, 32);
}

/**
 * Fills a fresh clone from the cache with a private copy, given to the user that the sandbox runs as: the one that was
 * made ahead where there is one (a rename), else a copy, by reflink where the file system can. False = not cached, or the
 * commit has a symlink where the set-up had a folder: then it runs, in the sandbox.
 */
export async function restoreSetup(
  forge: Forge,
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
  key: string,
): Promise<boolean> {
  const home = cacheFolder(forge, folder);
  const kept = join(home, key);
  const list = await readFile(join(kept, 'outputs.json'), 'utf8').catch(() => undefined);
  if (list === undefined) return false;
  const outputs = JSON.parse(list) as string[];
  for (const output of outputs) if ((await lookAtParents(folder.clone, output)) === 'blocked') return false;
  const startedAt = forge.clock.monotonic();
  const spare = await takeSpare(home, key, join(folder.root, 'spare'));
  const made: string[] = [];
  for (const [at, output] of outputs.entries()) {
    const target = join(folder.clone, output);
    const parents = await makeParents(folder.clone, output);
    if (!parents) return false; // one output lies behind a link in another: not what a cache is for
    const { firstNew } = parents;
    await rm(target, { recursive: true, force: true });
    if (spare) await rename(join(spare, String(at)), target);
    else await copyTree(join(kept, String(at)), target);
    if (!spare || firstNew) made.push(firstNew ?? target);
  }
  await giveToOwner(sandbox.owner, made);
  const isSlow = spare !== undefined || forge.clock.monotonic() - startedAt > slowCopyMs;
  if (isSlow) stockSpare(forge, { home, key, outputs: outputs.length, owner: sandbox.owner });
  return true;
}

/**
 * Keeps what set-up made (`outputs`, paths relative to the clone) for the next folder. Only ever called for a folder at a
 * base commit: what an agent's branch made must not reach another session. A copy that is there is kept.
 */
export async function keepSetup(
  forge: Forge,
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
  { key, outputs }: { key: string; outputs: readonly string[] },
): Promise<void> {
  const home = cacheFolder(forge, folder);
  const target = join(home, key);
  if (outputs.length === 0 || (await exists(target))) return;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const startedAt = forge.clock.monotonic();
  const fresh = await mkdtemp(join(home, 'new-'));
  try {
    const paths = outputs.map((output) => output.replace(/\/$/, ''));
    for (const [at, path] of paths.entries()) await copyTree(join(folder.clone, path), join(fresh, String(at)));
    await writeFile(join(fresh, 'outputs.json'), JSON.stringify(paths));
    await rename(fresh, target);
  } catch (error) {
    // A cache is a convenience: the disk may be full, or another folder was faster.
    await rm(fresh, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    const isCopy = error instanceof Error && 'stderr' in error;
    if (!isCopy && !['ENOTEMPTY', 'EEXIST', 'ENOSPC'].includes(code ?? '')) throw error;
  }
  await dropOldest(home);
  if (forge.clock.monotonic() - startedAt > slowCopyMs)
    stockSpare(forge, { home, key, outputs: outputs.length, owner: sandbox.owner });
}

/** Keeps the five newest set-ups of a repository. */
async function dropOldest(home: string): Promise<void> {
  const names = (await readdir(home)).filter((name) => !name.includes('-') && !name.includes('.'));
  const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(home, name))).mtimeMs })));
  for (const { name } of dated.toSorted((a, b) => b.at - a.at).slice(5))
    for (const path of [spareOf(home, name), join(home, name)]) await rm(path, { recursive: true, force: true });
}

function cacheFolder(forge: Forge, folder: WorkFolder): string {
  return join(forge.folders.work, '.set-up', folder.repositoryId);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
