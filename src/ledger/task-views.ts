import { type Result, ok } from '../kernel/index.ts';
import { hasExpired } from '../store/index.ts';
import { blockersOf, type DependencyView } from './dependencies.ts';
import { type Db, findTask, type TaskRow } from './rows.ts';
import type { TaskStatus } from './statuses.ts';

/**
 * What a task waits for, in one word: `ready` (to be claimed), `blocked` (by tasks), `held` (by its job or project),
 * `working` (claimed), `delivered` (waits for its pull request), `lost` (doing, but its claim is gone or over time),
 * `paused`, `over`.
 */
export type TaskPhase = 'ready' | 'blocked' | 'held' | 'working' | 'delivered' | 'lost' | 'paused' | 'over';

/** A task as it is shown. */
export interface TaskView {
  id: string;
  codename: string;
  /** `<project>/<task>`. */
  workKey: string;
  projectId: string;
  jobId: string;
  title: string;
  status: TaskStatus;
  phase: TaskPhase;
  priority: TaskRow['priority'];
  position: number;
  assigneeId: string | null;
  repositoryId: string | null;
  openBlockers: number;
  attempts: number;
  tokensEstimated: number | null;
  modelRecommended: TaskRow['model_recommended'];
  holder: string | null;
  fence: number | null;
  pullRequestId: string | null;
  version: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** A task with everything that belongs to it. */
export interface TaskDetail extends TaskView {
  row: TaskRow;
  blockedBy: DependencyView[];
  /** Things a human should look at: a cancelled blocker (decision 34). */
  attention: string[];
  skills: string[];
  tools: string[];
}

export interface TaskFilter {
  projectId?: string;
  jobId?: string;
  status?: readonly TaskStatus[];
  assigneeId?: string;
  /** Where the last page ended. */
  after?: string;
  /** Default 100, at most 1,000. */
  limit?: number;
}

/** Tasks by id (which is by creation), one page; `next` is null on the last one. Epoch ms of `now` judges claims. */
export async function listTasks(
  db: Db,
  filter: TaskFilter,
  now: number,
): Promise<{ tasks: TaskView[]; next: string | null }> {
  const limit = Math.max(1, Math.min(filter.limit ?? 100, 1000));
  let query = taskQuery(db)
    .orderBy('task.id')
    .limit(limit + 1);
  if (filter.projectId) query = query.where('task.project_id', '=', filter.projectId);
  if (filter.jobId) query = query.where('task.job_id', '=', filter.jobId);
  if (filter.status && filter.status.length > 0) query = query.where('task.status', 'in', [...filter.status]);
  if (filter.assigneeId) query = query.where('task.assignee_id', '=', filter.assigneeId);
  if (filter.after) query = query.where('task.id', '>', filter.after);
  const rows = await query.execute();
  const page = rows.slice(0, limit);
  return {
    tasks: page.map((row) => taskView(row, now)),
    next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** One task by id or work key. */
export async function showTask(db: Db, ref: string, now: number): Promise<Result<TaskDetail>> {
  const found = await findTask(db, ref);
  if (!found.ok) return found;
  const row = await taskQuery(db).where('task.id', '=', found.value.id).executeTakeFirstOrThrow();
  const blockedBy = await blockersOf(db, row.id);
  const cancelled = blockedBy.filter(({ blocker }) => blocker.status === 'cancelled');
  const skills = await db
    .selectFrom('task_skill')
    .innerJoin('skill', 'skill.id', 'task_skill.skill_id')
    .select('codename')
    .where('task_id', '=', row.id)
    .orderBy('codename')
    .execute();
  const tools = await db
    .selectFrom('task_tool')
    .innerJoin('tool', 'tool.id', 'task_tool.tool_id')
    .select('codename')
    .where('task_id', '=', row.id)
    .orderBy('codename')
    .execute();
  return ok({
    ...taskView(row, now),
    row: found.value,
    blockedBy,
    attention: cancelled.map(({ blocker }) => `blocker_cancelled: ${blocker.codename}`),
    skills: skills.map(({ codename }) => codename),
    tools: tools.map(({ codename }) => codename),
  });
}

/** A task with its project's name, its unreleased claim and its open delivery. */
function taskQuery(db: Db) {
  return db
    .selectFrom('task')
    .innerJoin('project', 'project.id', 'task.project_id')
    .leftJoin('lease', (join) =>
      join
        .onRef('lease.resource_id', '=', 'task.id')
        .on('lease.resource_type', '=', 'task')
        .on('lease.slot', '=', 'dispatcher')
        .on('lease.released_at', 'is', null),
    )
    .leftJoin('task_delivery as delivery', (join) =>
      join.onRef('delivery.task_id', '=', 'task.id').on('delivery.ended_at', 'is', null),
    )
    .selectAll('task')
    .select(['project.codename as project_codename', 'lease.holder', 'lease.fence', 'delivery.pull_request_id'])
    .select(['lease.ttl_ms', 'lease.last_activity_at']);
}

type QueriedTask = Awaited<ReturnType<ReturnType<typeof taskQuery>['executeTakeFirstOrThrow']>>;

function taskView(row: QueriedTask, now: number): TaskView {
  return {
    id: row.id,
    codename: row.codename,
    workKey: `${row.project_codename}/${row.codename}`,
    projectId: row.project_id,
    jobId: row.job_id,
    title: row.title,
    status: row.status,
    phase: phaseOf(row, now),
    priority: row.priority,
    position: row.position,
    assigneeId: row.assignee_id,
    repositoryId: row.repository_id,
    openBlockers: row.open_blockers,
    attempts: row.attempts,
    tokensEstimated: row.tokens_estimated,
    modelRecommended: row.model_recommended,
    holder: row.holder,
    fence: row.fence,
    pullRequestId: row.pull_request_id,
    version: row.version,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}

function phaseOf(row: QueriedTask, now: number): TaskPhase {
  if (row.status === 'done' || row.status === 'cancelled') return 'over';
  if (row.status === 'paused') return 'paused';
  if (row.status === 'todo') {
    if (row.open_blockers > 0) return 'blocked';
    return row.held === 1 ? 'held' : 'ready';
  }
  const isClaimed = row.holder !== null;
  const isLate = isClaimed && hasExpired({ ttl_ms: row.ttl_ms, last_activity_at: row.last_activity_at ?? 0 }, now);
  if (isClaimed && !isLate) return 'working';
  return row.pull_request_id === null ? 'lost' : 'delivered';
}
