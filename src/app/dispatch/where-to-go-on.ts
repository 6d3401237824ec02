import type { Tx } from '../../store/index.ts';

/** What a new session of a task takes over from the one before. */
export interface GoingOn {
  folderKey?: string;
  resumeConversationId?: string;
}

/**
 * Where a new session of a task works. After one that was stopped by a human, or in whose folder a human has worked: in its
 * folder. After one whose work had landed and whose task is open again (a revert, a reopened task): in its conversation, where
 * the same agent takes it; the folder is made anew at its place. After any other failed attempt: in a new folder.
 */
export async function whereToGoOn(tx: Tx, taskId: string, agent: string): Promise<GoingOn> {
  const last = await tx.db
    .selectFrom('session')
    .select(['id', 'folder_key', 'state', 'agent', 'conversation_id'])
    .where('task_id', '=', taskId)
    .where('role', '=', 'author')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!last) return {};
  const folderKey = last.folder_key ?? last.id;
  const folder = await tx.db
    .selectFrom('work_folder')
    .select('state')
    .where('owner_key', '=', folderKey)
    .executeTakeFirst();
  if (!folder) return {};
  if (folder.state === 'removed') {
    const keeps = last.state === 'DONE' && last.agent === agent && last.conversation_id !== null;
    return keeps ? { folderKey, resumeConversationId: last.conversation_id! } : {};
  }
  return last.state === 'ABORTED' || (await hadHuman(tx, folderKey)) ? { folderKey } : {};
}

async function hadHuman(tx: Tx, folderKey: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('takeover')
    .innerJoin('session', 'session.id', 'takeover.session_id')
    .select('takeover.id')
    .where((eb) => eb.or([eb('session.id', '=', folderKey), eb('session.folder_key', '=', folderKey)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
