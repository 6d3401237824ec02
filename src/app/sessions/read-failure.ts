import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { makeVisible } from '../../gate/index.ts';
import { toRfc3339 } from '../../kernel/index.ts';
import { maxAttempts } from '../../ledger/index.ts';
import { readEnd } from '../../sessions/index.ts';
import type { FailureView, RetryView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { retryAfterMs } from '../dispatch/dispatch-tasks.ts';

/** The end of an agent's or a set-up's output that a human is shown, in bytes. */
const tailBytes = 2_000;

/** Of which session; `folder_key` as in its row. */
interface FailedSession {
  id: string;
  generation: number;
  state: string;
  reason: string | null;
  folder_key: string | null;
}

/**
 * Why a session failed: exit code or signal of its agent and the end of what it wrote to its error output, or the end of the
 * set-up's log. `null` for one that did not fail, or of which nothing lies here (another node's, or older than its retention).
 */
export async function readFailure(ctx: AppContext, session: FailedSession): Promise<FailureView | null> {
  if (session.state !== 'CRASHED' && session.state !== 'START_FAILED') return null;
  if (session.reason === 'setup_failed')
    return { exitCode: null, signal: null, errors: makeVisible(readSetupLog(ctx, session.folder_key ?? session.id)) };
  const end = await readEnd(ctx.paths.sessions, session.id, session.generation, tailBytes);
  return end ? { ...end, errors: makeVisible(end.errors) } : null;
}

/** Tasks whose last session failed and that are tried again by themselves: which try it was, why, and when the next one comes. */
export async function readRetries(ctx: AppContext, taskId?: string): Promise<RetryView[]> {
  let query = ctx.store.read
    .selectFrom('task')
    .select(['id', 'attempts', 'updated_at'])
    .where('status', '=', 'todo')
    .where('attempts', '>', 0)
    .where('attempts', '<', maxAttempts)
    .orderBy('updated_at', 'desc')
    .limit(20);
  if (taskId !== undefined) query = query.where('id', '=', taskId);
  const retries = await Promise.all((await query.execute()).map((task) => retryOf(ctx, task)));
  return retries.filter((retry) => retry !== undefined);
}

async function retryOf(
  ctx: AppContext,
  task: { id: string; attempts: number; updated_at: number },
): Promise<RetryView | undefined> {
  const last = await ctx.store.read
    .selectFrom('session')
    .select(['id', 'work_key', 'agent', 'generation', 'state', 'reason', 'folder_key'])
    .where('task_id', '=', task.id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!last || (last.state !== 'CRASHED' && last.state !== 'START_FAILED')) return undefined;
  return {
    taskId: task.id,
    sessionId: last.id,
    workKey: last.work_key,
    agent: last.agent,
    state: last.state,
    reason: last.reason,
    attempt: task.attempts,
    maxAttempts,
    nextTryAt: toRfc3339(task.updated_at + retryAfterMs(task.attempts)),
    failure: await readFailure(ctx, last),
  };
}

/** The end of what the last set-up command of a work folder said. */
function readSetupLog(ctx: AppContext, folderKey: string): string {
  const folder = join(ctx.forge.folders.logs, 'setup', folderKey);
  const steps = existsSync(folder) ? readdirSync(folder).map((name) => Number.parseInt(name, 10)) : [];
  const file = join(folder, `${Math.max(...steps)}.log`);
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-tailBytes) : '';
}
