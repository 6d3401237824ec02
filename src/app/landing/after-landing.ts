import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { systemActor } from '../../kernel/index.ts';
import { fastForwardOperator, markWorkFolder, removeWorkFolder, repositoryById } from '../../forge/index.ts';
import { readLanding, readPullRequest, recordAftermath } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { insideOf } from '../workspace/inside.ts';
import { foldersOfTask } from '../workspace/open-author-folder.ts';

/** The effect that does what follows a landing outside the store. */
export const afterLandingEffect = 'landing.after';

/** How long the conversation of landed work is kept for a revert (ms). */
const keepHomeMs = 30 * 86_400_000;

/** What is kept of it; shown by `land`, `pr show` and the console. */
export interface Aftermath {
  branch?: string;
  commands: string[];
  checkout: { effect: 'fast-forwarded' | 'unchanged'; message: string; command: string | null } | null;
}

/**
 * Brings the operator's checkout along where that is safe, else says the one command (design section 6), and removes the
 * author's folder, whose work is landed, but for its home: a task that is reverted or reopened goes on in the same
 * conversation. Safe to repeat.
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
  for (const [at, folder] of (await foldersOfTask(ctx, task.id)).entries()) {
    const removed = await removeWorkFolder(ctx.forge, repository, folder, insideOf(ctx), { keepHome: at === 0 });
    if (!removed.ok) continue; // something in it is nowhere else: it stays
    const { rescueRefs } = removed.value;
    await ctx.store.tx((tx) =>
      markWorkFolder(tx, { ownerKey: folder.ownerKey, state: 'removed', rescueRefs, actor: systemActor('landing') }),
    );
  }
  await pruneKeptHomes(ctx);
}

/** Removes kept homes of landed work that nobody went back to; each landing looks. */
async function pruneKeptHomes(ctx: AppContext): Promise<void> {
  const work = ctx.forge.folders.work;
  const rows = await ctx.store.read
    .selectFrom('work_folder')
    .select('owner_key')
    .where('state', '=', 'removed')
    .where('purpose', '=', 'author')
    .where('removed_at', '<', ctx.store.clock.now() - keepHomeMs)
    .execute();
  const old = new Set(rows.map((row) => row.owner_key));
  for (const name of await readdir(work).catch(() => []))
    if (old.has(name)) await rm(join(work, name), { recursive: true, force: true });
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
