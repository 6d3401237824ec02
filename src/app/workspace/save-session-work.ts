import { systemActor } from '../../kernel/index.ts';
import { recordRescue, saveWork } from '../../forge/index.ts';
import type { AppContext } from '../context.ts';
import { insideOf } from './inside.ts';
import { findSessionFolder } from './session-folder.ts';

/**
 * Puts what an ended author left uncommitted or untaken into rescue refs and records them (design section 6). The folder
 * stays. Gives the refs; reviewers' folders hold no work.
 */
export async function saveSessionWork(ctx: AppContext, sessionId: string): Promise<string[]> {
  const row = await ctx.store.read.selectFrom('session').selectAll().where('id', '=', sessionId).executeTakeFirst();
  if (!row || row.role !== 'author') return [];
  const place = await findSessionFolder(ctx, { id: sessionId as never, role: row.role, taskId: row.task_id });
  if (!place?.repository) return [];
  const { folder, repository } = place;
  const saved = await saveWork(ctx.forge, repository, folder, insideOf(ctx));
  if (!saved.ok) {
    ctx.log.warn(
      { session: sessionId, code: saved.refusal.code },
      'work could not be saved; its folder stays as it is',
    );
    return [];
  }
  if (saved.value.refs.length > 0) {
    await ctx.store.tx((tx) =>
      recordRescue(tx, { ownerKey: folder.ownerKey, refs: saved.value.refs, actor: systemActor('work-folders') }),
    );
  }
  return saved.value.refs;
}
