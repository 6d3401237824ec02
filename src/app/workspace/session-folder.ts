import {
  type Repository,
  repositoryById,
  type WorkFolder,
  workFolderAt,
  workFolderByOwner,
} from '../../forge/index.ts';
import type { Session } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { plainFolder } from './plain-folder.ts';

/** Where a session works. */
export interface SessionFolder {
  folder: WorkFolder;
  /** Left out for work without a repository. */
  repository?: Repository;
}

/** The folder of a session as it stands; `undefined` when there is none any more. It follows from the session alone, whatever became of its task. */
export async function findSessionFolder(
  ctx: AppContext,
  session: Pick<Session, 'role' | 'taskId' | 'folderKey'>,
): Promise<SessionFolder | undefined> {
  const row = await workFolderByOwner(ctx.store.read, session.folderKey);
  if (row) {
    const repository = row.state === 'removed' ? undefined : await repositoryById(ctx.store.read, row.repositoryId);
    return repository ? { folder: workFolderAt(ctx.forge, row), repository } : undefined;
  }
  return (await worksWithoutRepository(ctx, session)) ? { folder: plainFolder(ctx, session.folderKey) } : undefined;
}

async function worksWithoutRepository(ctx: AppContext, session: Pick<Session, 'role' | 'taskId'>): Promise<boolean> {
  if (session.role !== 'author' || !session.taskId) return false;
  const task = await ctx.store.read
    .selectFrom('task')
    .select('repository_id')
    .where('id', '=', session.taskId)
    .executeTakeFirst();
  return task !== undefined && task.repository_id === null;
}
