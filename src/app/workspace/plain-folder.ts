import { mkdir } from 'node:fs/promises';

import { type WorkFolder, workFolderAt } from '../../forge/index.ts';
import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { Schema } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { authorFolderKey } from './open-author-folder.ts';

/** The folder of a task that has no repository: empty, kept until the task is over. */
export function plainFolder(ctx: AppContext, task: Pick<Schema['task'], 'id' | 'attempts'>): WorkFolder {
  return workFolderAt(ctx.forge, {
    ownerKey: authorFolderKey(task),
    repositoryId: '',
    purpose: 'author',
    branch: undefined,
    startCommit: '',
  });
}

/** Makes it; safe to repeat. */
export async function makePlainFolder(
  ctx: AppContext,
  task: Pick<Schema['task'], 'id' | 'attempts'>,
  sandbox: Sandbox,
): Promise<WorkFolder> {
  const folder = plainFolder(ctx, task);
  const parts = [folder.clone, folder.home, folder.cache, folder.tmp];
  for (const path of parts) await mkdir(path, { recursive: true, mode: 0o700 });
  await giveToOwner(sandbox.owner, parts);
  return folder;
}
