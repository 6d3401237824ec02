import { ok, type Result } from '../kernel/index.ts';
import { liveAssignments } from './assignments.ts';
import { listJobDependencies } from './job-dependencies.ts';
import { type Db, findJob, findProject, type JobRow, type ProjectRow } from './rows.ts';
import type { JobStatus, ProjectStatus, TaskStatus } from './statuses.ts';

/** How many tasks are in each status; `ready` is part of `todo`, `delivered` part of `doing`. */
export type TaskCounts = Record<TaskStatus | 'ready' | 'delivered', number>;

/** A job as it is shown. */
export interface JobView {
  id: string;
  projectId: string;
  codename: string;
  title: string;
  kind: JobRow['kind'];
  status: JobStatus;
  priority: JobRow['priority'];
  /** Codenames of the open jobs that it waits for. */
  waitsFor: string[];
  counts: TaskCounts;
  version: number;
}

/** A project as it is shown in a list. */
export interface ProjectView {
  id: string;
  codename: string;
  title: string;
  status: ProjectStatus;
  priority: ProjectRow['priority'];
  scope: string | null;
  counts: TaskCounts;
  /** Decisions about it or its parts that a human has not made. */
  openDecisions: number;
  version: number;
  createdAt: number;
}

/** A project with its jobs and team. */
export interface ProjectDetail extends ProjectView {
  row: ProjectRow;
  jobs: JobView[];
  team: { agentId: string; role: string }[];
}

export interface ProjectFilter {
  status?: readonly ProjectStatus[];
  after?: string;
  /** Default 50, at most 500. */
  limit?: number;
}

/** Projects, newest first, one page; `next` is null on the last one. */
export async function listProjects(
  db: Db,
  filter: ProjectFilter = {},
): Promise<{ projects: ProjectView[]; next: string | null }> {
  const limit = Math.max(1, Math.min(filter.limit ?? 50, 500));
  let query = db
    .selectFrom('project')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (filter.status && filter.status.length > 0) query = query.where('status', 'in', [...filter.status]);
  if (filter.after) query = query.where('id', '<', filter.after);
  const rows = await query.execute();
  const page = rows.slice(0, limit);
  return { projects: await projectViews(db, page), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
}

/** One project by id or codename, with its jobs. */
export async function showProject(db: Db, ref: string): Promise<Result<ProjectDetail>> {
  const found = await findProject(db, ref);
  if (!found.ok) return found;
  const row = found.value;
  const [view] = await projectViews(db, [row]);
  const jobs = await db.selectFrom('job').selectAll().where('project_id', '=', row.id).orderBy('seq').execute();
  const team = await liveAssignments(db, row.id);
  return ok({
    ...(view as ProjectView),
    row,
    jobs: await jobViews(db, row.id, jobs),
    team: team.map((member) => ({ agentId: member.agent_id, role: member.role })),
  });
}

/** One job by id or `<project>/<job>`. */
export async function showJob(db: Db, ref: string): Promise<Result<JobView & { row: JobRow }>> {
  const found = await findJob(db, ref);
  if (!found.ok) return found;
  const [view] = await jobViews(db, found.value.project_id, [found.value]);
  return ok({ ...(view as JobView), row: found.value });
}

async function projectViews(db: Db, rows: readonly ProjectRow[]): Promise<ProjectView[]> {
  const ids = rows.map((row) => row.id);
  const counts = await countTasks(db, 'project_id', ids);
  const decisions =
    ids.length === 0
      ? []
      : await db
          .selectFrom('decision_request')
          .select((eb) => ['project_id', eb.fn.countAll().as('open')])
          .where('state', '=', 'open')
          .where('project_id', 'in', ids)
          .groupBy('project_id')
          .execute();
  const open = new Map(decisions.map((row) => [row.project_id, Number(row.open)]));
  return rows.map((row) => ({
    id: row.id,
    codename: row.codename,
    title: row.title,
    status: row.status,
    priority: row.priority,
    scope: row.scope,
    counts: counts.get(row.id) ?? noTasks(),
    openDecisions: open.get(row.id) ?? 0,
    version: row.version,
    createdAt: row.created_at,
  }));
}

async function jobViews(db: Db, projectId: string, rows: readonly JobRow[]): Promise<JobView[]> {
  const counts = await countTasks(
    db,
    'job_id',
    rows.map((row) => row.id),
  );
  const edges = await listJobDependencies(db, projectId);
  const blockers = await db
    .selectFrom('job')
    .select(['id', 'codename'])
    .where('project_id', '=', projectId)
    .where('status', 'not in', ['done', 'cancelled'])
    .execute();
  const openNames = new Map(blockers.map((row) => [row.id, row.codename]));
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    codename: row.codename,
    title: row.title,
    kind: row.kind,
    status: row.status,
    priority: row.priority,
    waitsFor: edges.flatMap((edge) => (edge.blockedJobId === row.id ? (openNames.get(edge.blockerJobId) ?? []) : [])),
    counts: counts.get(row.id) ?? noTasks(),
    version: row.version,
  }));
}

/** Two grouped queries, however many items. */
async function countTasks(
  db: Db,
  by: 'project_id' | 'job_id',
  ids: readonly string[],
): Promise<Map<string, TaskCounts>> {
  const counts = new Map<string, TaskCounts>();
  if (ids.length === 0) return counts;
  const of = (id: string): TaskCounts => {
    const known = counts.get(id) ?? noTasks();
    counts.set(id, known);
    return known;
  };
  const grouped = await db
    .selectFrom('task')
    .select((eb) => [`${by} as owner` as const, 'status', 'held', eb.fn.countAll().as('number')])
    .select((eb) => eb.case().when('open_blockers', '>', 0).then(1).else(0).end().as('blocked'))
    .where(by, 'in', [...ids])
    .groupBy([by, 'status', 'held', 'blocked'])
    .execute();
  for (const row of grouped) {
    const entry = of(row.owner);
    entry[row.status] += Number(row.number);
    if (row.status === 'todo' && row.held === 0 && Number(row.blocked) === 0) entry.ready += Number(row.number);
  }
  const delivered = await db
    .selectFrom('task_delivery')
    .innerJoin('task', 'task.id', 'task_delivery.task_id')
    .select((eb) => [`task.${by} as owner` as const, eb.fn.countAll().as('number')])
    .where('task_delivery.ended_at', 'is', null)
    .where(`task.${by}`, 'in', [...ids])
    .groupBy(`task.${by}`)
    .execute();
  for (const row of delivered) of(row.owner).delivered += Number(row.number);
  return counts;
}

function noTasks(): TaskCounts {
  return { todo: 0, doing: 0, done: 0, paused: 0, cancelled: 0, ready: 0, delivered: 0 };
}
