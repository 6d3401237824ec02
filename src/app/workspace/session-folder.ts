import {
  type Repository,
  repositoryById,
  type WorkFolder,
  workFolderAt,
  workFolderByOwner,
} from '../../forge/index.ts';
import type { Session } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { findAuthorFolder } from './open-author-folder.ts';
import { plainFolder } from './plain-folder.ts';

/** Where a session works. */
export interface SessionFolder {
  folder: WorkFolder;
  /** Left out for work without a repository. */
  repository?: Repository;
}

/** The folder of a session as it stands; `undefined` when there is none any more. */
export async function findSessionFolder(
  ctx: AppContext,
  session: Pick<Session, 'id' | 'role' | 'taskId'>,
): Promise<SessionFolder | undefined> {
  if (session.role === 'author') return authorFolder(ctx, session);
  const row = await workFolderByOwner(ctx.store.read, session.id);
  if (!row || row.state === 'removed') return undefined;
  const repository = await repositoryById(ctx.store.read, row.repositoryId);
  return repository ? { folder: workFolderAt(ctx.forge, row), repository } : undefined;
}

async function authorFolder(ctx: AppContext, session: Pick<Session, 'taskId'>): Promise<SessionFolder | undefined> {
  if (!session.taskId) return undefined;
  const task = await ctx.store.read.selectFrom('task').selectAll().where('id', '=', session.taskId).executeTakeFirst();
  if (!task) return undefined;
  if (!task.repository_id) return { folder: plainFolder(ctx, task) };
  const folder = await findAuthorFolder(ctx, task);
  const repository = await repositoryById(ctx.store.read, task.repository_id);
  return folder && repository ? { folder, repository } : undefined;
}
