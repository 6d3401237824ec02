import { toRfc3339 } from '../../kernel/index.ts';
import type {
  Agent,
  JobView as LedgerJob,
  ProjectView as LedgerProject,
  TaskCounts,
  TaskDetail,
  TaskView as LedgerTask,
} from '../../ledger/index.ts';
import { showTask } from '../../ledger/index.ts';
import { readAccount } from '../../sessions/index.ts';
import type { AgentView, JobView, ProjectView, TaskView } from '../../wire/index.ts';
import { readSpending, readTaskEstimate } from '../../spending/index.ts';
import type { AppContext } from '../context.ts';
import { budgetView, estimateView, spendingView } from '../spending/views.ts';
import type { Db } from '../dispatch/db.ts';
import { accountOf } from '../launch/account-of.ts';

/** What views read with. */
type Viewing = Pick<AppContext, 'store' | 'spending'>;

/** A project as a client sees it. */
export async function projectView(ctx: Viewing, project: LedgerProject): Promise<ProjectView> {
  const db = ctx.store.read;
  const row = await db
    .selectFrom('project')
    .select(['current_focus', 'notes', 'updated_at'])
    .where('id', '=', project.id)
    .executeTakeFirstOrThrow();
  const task = await db
    .selectFrom('task')
    .select('repository_id')
    .where('project_id', '=', project.id)
    .where('repository_id', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return {
    id: project.id,
    codename: project.codename,
    title: project.title,
    status: project.status,
    priority: project.priority,
    scope: project.scope,
    currentFocus: row.current_focus,
    notes: row.notes,
    repositoryId: task?.repository_id ?? null,
    spending: spendingView(await readSpending(db, { projectId: project.id })),
    budget: await budgetView(ctx, { scope: 'project', subject: project.id }, project.codename),
    taskCounts: countsOf(project.counts),
    createdAt: toRfc3339(project.createdAt),
    updatedAt: toRfc3339(row.updated_at),
  };
}

export async function jobView(db: Db, job: LedgerJob): Promise<JobView> {
  const row = await db
    .selectFrom('job')
    .innerJoin('project', 'project.id', 'job.project_id')
    .select(['job.created_at', 'job.updated_at', 'project.codename'])
    .where('job.id', '=', job.id)
    .executeTakeFirstOrThrow();
  return {
    id: job.id,
    projectId: job.projectId,
    project: row.codename,
    codename: job.codename,
    title: job.title,
    kind: job.kind,
    status: job.status,
    priority: job.priority,
    taskCounts: countsOf(job.counts),
    createdAt: toRfc3339(row.created_at),
    updatedAt: toRfc3339(row.updated_at),
  };
}

/**
 * A task as a client sees it, with what works on it and what it waits for. `inList`: without its budget, which takes reading
 * of everything that counts against it.
 */
export async function taskView(
  ctx: Viewing,
  task: Pick<LedgerTask, 'id'>,
  options: { inList?: boolean } = {},
): Promise<TaskView> {
  const db = ctx.store.read;
  const found = await showTask(db, task.id, ctx.store.clock.now());
  if (!found.ok) throw new Error(found.refusal.message);
  const view = await detailedTaskView(db, found.value);
  if (options.inList) return view;
  return { ...view, budget: await budgetView(ctx, { scope: 'task', subject: view.id }, view.codename) };
}

export async function detailedTaskView(db: Db, task: TaskDetail): Promise<TaskView> {
  const names = await db
    .selectFrom('job')
    .innerJoin('project', 'project.id', 'job.project_id')
    .select(['job.codename as job', 'project.codename as project'])
    .where('job.id', '=', task.jobId)
    .executeTakeFirstOrThrow();
  const assignee = task.assigneeId
    ? await db.selectFrom('agent').select('codename').where('id', '=', task.assigneeId).executeTakeFirst()
    : undefined;
  const session = await db
    .selectFrom('session')
    .select('id')
    .where('task_id', '=', task.id)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  const change = task.pullRequestId
    ? await db.selectFrom('pull_request').select('number').where('id', '=', task.pullRequestId).executeTakeFirst()
    : undefined;
  return {
    id: task.id,
    projectId: task.projectId,
    project: names.project,
    jobId: task.jobId,
    job: names.job,
    codename: task.codename,
    title: task.title,
    description: task.row.request ?? (task.row.description === '' ? null : task.row.description),
    status: task.status,
    priority: task.priority,
    position: task.position,
    assignee: assignee?.codename ?? null,
    tokenEstimate: task.tokensEstimated,
    // Nothing is used before it has started.
    spending: spendingView(task.startedAt === null ? undefined : await readSpending(db, { taskId: task.id })),
    estimate: estimateView(task.startedAt === null ? undefined : await readTaskEstimate(db, task.id)),
    budget: null,
    modelClass: task.modelRecommended ?? 'high',
    attempts: task.attempts,
    blockedBy: task.blockedBy.map((edge) => edge.blocker.id),
    isReady: task.phase === 'ready',
    sessionId: session?.id ?? null,
    pullRequest: change?.number ?? null,
    createdAt: toRfc3339(task.createdAt),
    updatedAt: toRfc3339(task.row.updated_at),
    startedAt: momentOf(task.startedAt),
    endedAt: momentOf(task.endedAt),
  };
}

export async function agentView(db: Db, agent: Agent, now: number): Promise<AgentView> {
  const row = await db.selectFrom('agent').selectAll().where('id', '=', agent.id).executeTakeFirstOrThrow();
  const account = accountOf(row, process.env);
  const state = await readAccount(db, account, now);
  return {
    id: agent.id,
    codename: agent.codename,
    driver: agent.driver,
    command: agent.command,
    tty: agent.tty,
    family: agent.family,
    roles: agent.roles.filter((role) => role !== 'coordinator'),
    active: agent.isActive,
    account,
    limited: state.kind === 'limited' ? state.reason : null,
    limitedUntil: state.kind === 'limited' ? momentOf(state.until) : null,
    createdAt: toRfc3339(row.created_at),
  };
}

/** Epoch ms as RFC 3339, or null. */
export function momentOf(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : toRfc3339(at);
}

function countsOf({ todo, doing, done, paused, cancelled }: TaskCounts): ProjectView['taskCounts'] {
  return { todo, doing, done, paused, cancelled };
}
