import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { forgetWatched } from '../../sessions/index.ts';
import { type Reconciler, startReconciler } from '../../store/index.ts';
import type { AppContext } from '../context.ts';

const everyMs = 3_600_000;
/** Folders that one pass removes at most; the next goes on. */
const maxRemovals = 500;

/** The hourly look for journals that nothing refers to any more (`retention.journals`), and for what watched sessions asked long ago. */
export function startRetention(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'retention',
    list: async () => ['journals'],
    pass: async () => {
      await forgetWatched(ctx.store);
      const removed = await removeOldJournals(ctx);
      if (removed.length > 0) ctx.log.info({ sessions: removed.length }, 'journals of finished work were removed');
      return { kind: 'look-again', ms: everyMs };
    },
    everyMs,
    onError: (error) => ctx.log.error({ err: error }, 'retention'),
  });
}

/**
 * Removes the files of sessions that ended longer ago than `retention.journals` says and that nothing refers to: their task is
 * over (done or cancelled), and no decision and no pull request of it is open. What stands in the store stays. Gives their ids.
 */
export async function removeOldJournals(ctx: AppContext): Promise<string[]> {
  const keepMs = ctx.config.get('retention.journals');
  if (keepMs === 0) return [];
  const before = ctx.store.clock.now() - keepMs;
  const removed: string[] = [];
  for (const id of await readdir(ctx.paths.sessions).catch(() => [])) {
    if (removed.length >= maxRemovals) break;
    if (!(await isOver(ctx, id, before))) continue;
    await rm(join(ctx.paths.sessions, id), { recursive: true, force: true });
    removed.push(id);
  }
  return removed;
}

async function isOver(ctx: AppContext, id: string, before: number): Promise<boolean> {
  const db = ctx.store.read;
  const session = await db
    .selectFrom('session')
    .select(['task_id', 'pull_request_id', 'node_id'])
    .where('id', '=', id)
    .where('wound_up_at', '<', before)
    .executeTakeFirst();
  // A name without a session is nothing of ours to judge; the sessions of another node lie on another disk.
  if (!session || session.node_id !== ctx.nodeId) return false;
  const open = await db
    .selectFrom('decision_request')
    .select('id')
    .where('session_id', '=', id)
    .where('state', '=', 'open')
    .limit(1)
    .executeTakeFirst();
  if (open) return false;
  return isWorkOver(ctx, session);
}

/** A reviewer's session has no task of its own: its pull request and the task of that one are looked at. */
async function isWorkOver(
  ctx: AppContext,
  session: { task_id: string | null; pull_request_id: string | null },
): Promise<boolean> {
  const pulls = await ctx.store.read
    .selectFrom('pull_request')
    .select(['task_id', 'closed_at'])
    .where((eb) => eb.or([eb('id', '=', session.pull_request_id ?? ''), eb('task_id', '=', session.task_id ?? '')]))
    .execute();
  if (pulls.some((pull) => pull.closed_at === null)) return false;
  const tasks = [session.task_id, ...pulls.map((pull) => pull.task_id)].filter((id) => id !== null);
  if (tasks.length === 0) return true;
  const living = await ctx.store.read
    .selectFrom('task')
    .select('id')
    .where('id', 'in', tasks)
    .where('status', 'not in', ['done', 'cancelled'])
    .limit(1)
    .executeTakeFirst();
  return !living;
}
