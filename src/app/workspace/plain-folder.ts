import { mkdir } from 'node:fs/promises';

import { type WorkFolder, workFolderAt } from '../../forge/index.ts';
import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { AppContext } from '../context.ts';

/** The folder of a session whose task has no repository: empty at first, kept until the task is over. */
export function plainFolder(ctx: AppContext, ownerKey: string): WorkFolder {
  return workFolderAt(ctx.forge, {
    ownerKey,
    repositoryId: '',
    purpose: 'author',
    branch: undefined,
    startCommit: '',
  });
}

/** Makes it; safe to repeat. */
export async function makePlainFolder(ctx: AppContext, ownerKey: string, sandbox: Sandbox): Promise<WorkFolder> {
  const folder = plainFolder(ctx, ownerKey);
  const parts = [folder.clone, folder.home, folder.cache, folder.tmp];
  for (const path of parts) await mkdir(path, { recursive: true, mode: 0o700 });
  await giveToOwner(sandbox.owner, parts);
  return folder;
}
