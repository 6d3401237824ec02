import { type SelectQueryBuilder, sql } from 'kysely';

import type { Schema } from '../store/index.ts';
import type { Db, TaskRow } from './rows.ts';

/** Which ready tasks are wanted; nothing given = all. */
export interface ReadyFilter {
  projectId?: string;
  jobId?: string;
  repositoryId?: string;
  /** Tasks of this agent and tasks of nobody. */
  agentId?: string;
  /** Task ids to leave out. */
  except?: readonly string[];
}

/**
 * Ready tasks in the order in which they should start: by priority, then oldest first. Ready = todo, no open blocker,
 * job and project at work; what is being worked on or waits for its pull request never is. One index, no join.
 */
export function readyQuery(db: Db, filter: ReadyFilter): SelectQueryBuilder<Schema, 'task', object> {
  let query = db
    .selectFrom('task')
    // Literals, not parameters: only so does every planner see that the partial index fits.
    .where('task.status', '=', sql.lit('todo'))
    .where('task.open_blockers', '=', sql.lit(0))
    .where('task.held', '=', sql.lit(0))
    .orderBy('task.priority')
    .orderBy('task.created_at')
    .orderBy('task.seq')
    .orderBy('task.id');
  const { projectId, jobId, repositoryId, agentId, except } = filter;
  if (projectId) query = query.where('task.project_id', '=', projectId);
  if (jobId) query = query.where('task.job_id', '=', jobId);
  if (repositoryId) query = query.where('task.repository_id', '=', repositoryId);
  if (agentId) query = query.where((eb) => eb.or([eb('assignee_id', 'is', null), eb('assignee_id', '=', agentId)]));
  if (except && except.length > 0) query = query.where('task.id', 'not in', [...except]);
  return query;
}

/** The first `limit` (default 50, at most 1,000) ready tasks. */
export function readyTasks(db: Db, filter: ReadyFilter & { limit?: number } = {}): Promise<TaskRow[]> {
  const limit = Math.max(1, Math.min(filter.limit ?? 50, 1000));
  return readyQuery(db, filter).selectAll('task').limit(limit).execute();
}
