import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import { type Forge, viewCheckout } from '../forge.ts';
import { type Checkout, gitRecords, locateCheckout, readRegular } from '../git/index.ts';
import type { ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { makeParents } from './make-parents.ts';
import type { WorkFolder } from './work-folder.ts';

/** Bounds of what one folder gets from the operator's checkout; a model or a data set is shown by `workspace.link` instead. */
const largestCopy = 64 * 1024 ** 2;
const largestSum = 256 * 1024 ** 2;
const mostFiles = 2_000;

/** What was copied, and what was named but left out because of its size. Paths relative to the top. */
export interface CopiedFiles {
  copied: string[];
  leftOut: string[];
  /** Everything that was named, also what an interrupted run had copied already: none of it is what set-up made. */
  named: string[];
}

/**
 * Copies files that are not in git but belong to a usable folder (`workspace.copy`, and what `.worktreeinclude` names) from
 * the operator's checkout into a fresh clone. Reads untracked regular files only, follows no symlink, replaces nothing;
 * at most 64 MiB a file, 256 MiB and 2,000 files in all.
 */
export async function copyOperatorFiles(
  forge: Forge,
  repository: ForgeRepository & { config: Pick<RepositoryConfig, 'workspace'> },
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
): Promise<CopiedFiles> {
  const { copy, include = [] } = repository.config.workspace;
  const patterns = [...copy.map((path) => `/${path}`), ...include];
  const found: CopiedFiles = { copied: [], leftOut: [], named: [] };
  const located = patterns.length === 0 ? undefined : await locateCheckout(repository.operatorPath);
  if (!located?.ok) return found;
  const made: string[] = [];
  let sum = 0;
  for (const path of await matchingFiles(forge, located.value, patterns)) {
    const size = await sizeInside(located.value.top, path);
    if (size === undefined) continue;
    found.named.push(path);
    if (size > largestCopy || sum + size > largestSum || found.copied.length >= mostFiles) {
      if (found.leftOut.length < 20) found.leftOut.push(path);
      continue;
    }
    const content = await readRegular(join(located.value.top, path), largestCopy);
    const written = content && (await writeNew(folder, path, content));
    if (!written) continue;
    sum += size;
    found.copied.push(path);
    made.push(written);
  }
  await giveToOwner(sandbox.owner, made);
  return found;
}

async function matchingFiles(forge: Forge, checkout: Checkout, patterns: string[]): Promise<string[]> {
  const view = await viewCheckout(forge, checkout);
  try {
    const excludes = patterns.map((pattern) => `--exclude=${pattern}`);
    return await gitRecords(forge.git, view.withFiles, ['ls-files', '--others', '--ignored', '-z', ...excludes]);
  } finally {
    await view.close();
  }
}

/** Size of a regular file that no symlink leads to; `undefined` for anything else. */
async function sizeInside(top: string, path: string): Promise<number | undefined> {
  const whole = join(top, path);
  const folder = await realpath(dirname(whole)).catch(() => undefined);
  const entry = folder === dirname(whole) ? await lstat(whole).catch(() => undefined) : undefined;
  return entry?.isFile() ? entry.size : undefined;
}

/** Gives the topmost path that it made; `undefined` when something is there already. */
async function writeNew(folder: WorkFolder, path: string, content: Buffer): Promise<string | undefined> {
  const target = join(folder.clone, path);
  const parents = await makeParents(folder.clone, path);
  if (!parents) return undefined;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(target, flags, 0o600).catch(() => undefined);
  if (!file) return undefined;
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
  return parents.firstNew ?? target;
}
