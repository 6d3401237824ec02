import { constants } from 'node:fs';
import { mkdir, open, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import { type Forge, viewCheckout } from '../forge.ts';
import { type Checkout, gitRecords, locateCheckout, readRegular } from '../git/index.ts';
import { type ForgeRepository, forgePlace } from '../repository.ts';
import { readBlob } from '../read-config.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import type { WorkFolder } from './work-folder.ts';

const largestCopy = 64 * 1024 ** 2;

/**
 * Copies files that are not in git but belong to a usable folder (`workspace.copy`, and what `.worktreeinclude` of the base
 * names) from the operator's checkout into a fresh clone. Reads regular files only, follows no symlink, replaces nothing.
 * Gives the paths that were copied.
 */
export async function copyOperatorFiles(
  forge: Forge,
  repository: ForgeRepository & { config: Pick<RepositoryConfig, 'workspace'> },
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
): Promise<string[]> {
  const { config } = repository;
  const patterns = [...config.workspace.copy.map((path) => `/${path}`), ...(await worktreeInclude(forge, repository))];
  if (patterns.length === 0) return [];
  const located = await locateCheckout(repository.operatorPath);
  if (!located.ok) return [];
  const copied: string[] = [];
  const made: string[] = [];
  for (const path of await matchingFiles(forge, located.value, patterns)) {
    const content = await readInside(located.value.top, path);
    const written = content && (await writeNew(folder, path, content));
    if (!written) continue;
    copied.push(path);
    made.push(written);
  }
  await giveToOwner(sandbox.owner, made);
  return copied;
}

async function worktreeInclude(forge: Forge, repository: ForgeRepository): Promise<string[]> {
  const text = await readBlob(forge.git, forgePlace(repository), `refs/heads/${repository.base}`, '.worktreeinclude');
  return (text ?? '').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
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

async function readInside(top: string, path: string): Promise<Buffer | undefined> {
  const whole = join(top, path);
  const folder = await realpath(dirname(whole)).catch(() => undefined);
  if (folder !== dirname(whole)) return undefined;
  return readRegular(whole, largestCopy);
}

/** Gives the topmost path that it made; `undefined` when something is there already. */
async function writeNew(folder: WorkFolder, path: string, content: Buffer): Promise<string | undefined> {
  const target = join(folder.clone, path);
  const firstNew = await mkdir(dirname(target), { recursive: true });
  if ((await realpath(dirname(target))) !== dirname(target)) return undefined;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(target, flags, 0o600).catch(() => undefined);
  if (!file) return undefined;
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
  return firstNew ?? target;
}
