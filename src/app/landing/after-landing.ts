import { systemActor } from '../../kernel/index.ts';
import { fastForwardOperator, markWorkFolder, removeWorkFolder, repositoryById } from '../../forge/index.ts';
import { readLanding, readPullRequest, recordAftermath } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { insideOf } from '../workspace/inside.ts';
import { foldersOfTask } from '../workspace/open-author-folder.ts';

/** The effect that does what follows a landing outside the store. */
export const afterLandingEffect = 'landing.after';

/** What is kept of it; shown by `land`, `pr show` and the console. */
export interface Aftermath {
  branch?: string;
  commands: string[];
  checkout: { effect: 'fast-forwarded' | 'unchanged'; message: string; command: string | null } | null;
}

/**
 * Brings the operator's checkout along where that is safe, else says the one command (design section 6), and removes the
 * author's folder, whose work is landed. Safe to repeat.
 */
export async function followLanding(ctx: AppContext, landed: { landingId: string; commit: string }): Promise<void> {
  const landing = await readLanding(ctx.store.read, landed.landingId);
  const repository = landing ? await repositoryById(ctx.store.read, landing.repositoryId) : undefined;
  if (!landing || !repository) return;
  if (landing.mode === 'base') {
    const aftermath: Aftermath = { commands: [], checkout: await bringAlong(ctx, repository, landed.commit) };
    await ctx.store.tx((tx) => recordAftermath(tx, landing.id, { ...aftermath }));
  }
  const pullRequest = await readPullRequest(ctx.store.read, landing.pullRequestId);
  const task = pullRequest?.taskId
    ? await ctx.store.read
        .selectFrom('task')
        .select(['id', 'status'])
        .where('id', '=', pullRequest.taskId)
        .executeTakeFirst()
    : undefined;
  if (task?.status !== 'done') return;
  for (const folder of await foldersOfTask(ctx, task.id)) {
    const removed = await removeWorkFolder(ctx.forge, repository, folder, insideOf(ctx));
    if (!removed.ok) continue; // something in it is nowhere else: it stays
    const { rescueRefs } = removed.value;
    await ctx.store.tx((tx) =>
      markWorkFolder(tx, { ownerKey: folder.ownerKey, state: 'removed', rescueRefs, actor: systemActor('landing') }),
    );
  }
}

async function bringAlong(
  ctx: AppContext,
  repository: Parameters<typeof fastForwardOperator>[1],
  commit: string,
): Promise<Aftermath['checkout']> {
  const result = await fastForwardOperator(ctx.forge, repository, commit);
  if (result.outcome === 'forwarded') {
    return {
      effect: 'fast-forwarded',
      message: `${repository.base} in ${repository.operatorPath} was fast-forwarded to ${result.to.slice(0, 12)}.`,
      command: null,
    };
  }
  if (result.outcome === 'already')
    return { effect: 'unchanged', message: `${repository.operatorPath} has it already.`, command: null };
  return {
    effect: 'unchanged',
    message: `Your checkout was left as it is: ${result.reason}.`,
    command: result.command,
  };
}
