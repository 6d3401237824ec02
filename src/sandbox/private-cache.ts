import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { newShortId, sha256 } from '../kernel/index.ts';
import { giveToOwner } from './bubblewrap/owner.ts';
import { findSystemProgram } from './bubblewrap/find-programs.ts';
import type { Sandbox } from './profile.ts';
import { readWorkFile } from './read-work-file.ts';

const maxLockfileBytes = 64 * 1024 ** 2;

/**
 * The key of a cache: the lockfiles as they are in the work folder, with what else makes two installations differ (the
 * set-up commands, the tool's version). The same key = the same installation. A missing file counts as missing.
 */
export async function cacheKeyOf(
  workFolder: string,
  lockfiles: readonly string[],
  alsoDependsOn: readonly string[] = [],
): Promise<string> {
  const parts: string[] = [process.platform, process.arch, ...alsoDependsOn];
  for (const name of lockfiles) {
    const read = await readWorkFile(workFolder, name, maxLockfileBytes);
    parts.push(name, read.ok ? sha256(read.value.bytes) : 'missing');
  }
  return sha256(JSON.stringify(parts));
}

/**
 * Copies the stored cache `key` to `into`, which must not exist: a private copy for one work folder, as reflinks where
 * the file system has them. `miss` when nothing is stored.
 */
export async function takePrivateCache(
  sandbox: Pick<Sandbox, 'owner'>,
  options: { store: string; key: string; into: string },
): Promise<'hit' | 'miss'> {
  const kept = join(options.store, options.key);
  if (!existsSync(kept)) return 'miss';
  await copyTree(kept, options.into);
  await giveToOwner(sandbox.owner, [options.into]);
  const now = new Date();
  await utimes(kept, now, now); // what was used last leaves last
  return 'hit';
}

/**
 * Keeps `from` as the cache `key`, once the `setup` profile has filled it and nothing runs in it any more. Never called with
 * what an author could write: one session could then change what another installs. Safe twice; the first one stays.
 */
export async function keepPrivateCache(options: { from: string; store: string; key: string }): Promise<void> {
  const kept = join(options.store, options.key);
  if (existsSync(kept)) return;
  await mkdir(options.store, { recursive: true, mode: 0o700 });
  const unfinished = join(options.store, `.new-${newShortId<string>(12)}`);
  try {
    await copyTree(options.from, unfinished);
    await rename(unfinished, kept);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!existsSync(kept)) throw error;
  }
}

/** Removes the caches that were not used for longest, until at most `keep` are left, and what a crash left unfinished. */
export async function pruneCaches(store: string, keep: number): Promise<void> {
  if (!existsSync(store)) return;
  const names = await readdir(store);
  const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(store, name))).mtimeMs })));
  const finished = dated.filter(({ name }) => !name.startsWith('.new-')).toSorted((a, b) => b.at - a.at);
  const unfinished = dated.filter(({ name, at }) => name.startsWith('.new-') && Date.now() - at > 24 * 3_600_000);
  for (const { name } of [...finished.slice(keep), ...unfinished])
    await rm(join(store, name), { recursive: true, force: true });
}

/** Links stay links, and nothing is followed. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const cp = findSystemProgram('cp');
  if (!cp) throw new Error('this system has no cp');
  const how = process.platform === 'darwin' ? ['-Rpc'] : ['-a', '--reflink=auto', '--no-target-directory'];
  await promisify(execFile)(cp, [...how, '--', from, to], { env: {}, maxBuffer: 1024 ** 2 });
}
