import { ok, type Result } from '../../kernel/index.ts';
import {
  addDependency,
  addJob,
  addTask,
  cancelTask,
  completeTask,
  createProject,
  findJob,
  findProject,
  findTask,
  listDependencies,
  listProjects,
  listTasks,
  pauseTask,
  readyTasks,
  removeDependency,
  reopenTask,
  resumeTask,
  showJob,
  showProject,
  type TaskRow,
  type TaskStatus,
  updateTask,
} from '../../ledger/index.ts';
import type { Tx } from '../../store/index.ts';
import type { NewTask, Page, TaskChange, TaskView } from '../../wire/index.ts';
import type { WorkUseCases } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { findRepository } from '../repositories/register-repository.ts';
import { addAgent, listAgentViews } from './agents.ts';
import { applyBudget } from '../spending/apply-budget.ts';
import { runRequest } from './run-request.ts';
import { endWorkOf } from './end-work.ts';
import { jobView, projectView, taskView } from './views.ts';

/** Projects, jobs, tasks and agents, over the ledger. */
export function workUseCases(ctx: AppContext): WorkUseCases {
  const db = ctx.store.read;
  const changeTask = async (
    caller: Caller,
    name: string,
    command: string,
    payload: unknown,
    fn: (tx: Tx, task: TaskRow) => Promise<Result<unknown>>,
  ) => {
    const changed = await once(ctx.store, caller, command, { task: name, payload }, async (tx) => {
      const task = await findTask(tx.db, name);
      if (!task.ok) return task;
      const done = await fn(tx, task.value);
      return done.ok ? ok({ id: task.value.id }) : done;
    });
    return changed.ok ? ok(await taskView(ctx, changed.value)) : changed;
  };
  return {
    run: (caller, request) => runRequest(ctx, caller, request),
    async createProject(caller, project) {
      const payload = await creationPayload(ctx, project);
      if (!payload.ok) return payload;
      const create = async (tx: Tx) => {
        const made = await createProject(tx, {
          payload: payload.value,
          actor: caller.actor,
          dryRun: project.dryRun === true,
        });
        if (!made.ok || made.value.project_id === null) return made;
        const scope = { scope: 'project', subject: made.value.project_id } as const;
        const budget = await applyBudget(tx, ctx, caller, scope, project.budget);
        if (!budget.ok) return budget;
        const tasks = project.firstTasks ?? (project.firstTask ? [project.firstTask] : []);
        for (const [index, subject] of made.value.task_ids.entries()) {
          const own = await applyBudget(tx, ctx, caller, { scope: 'task', subject }, tasks[index]?.budget);
          if (!own.ok) return own;
        }
        return made;
      };
      // A dry run stores nothing, not even its key.
      const created = project.dryRun
        ? await ctx.store.tx(create)
        : await once(ctx.store, caller, 'project.create', project, create);
      if (!created.ok) return created;
      const {
        project_id: projectId,
        job_id: jobId,
        task_ids: taskIds,
        codenames,
        warnings,
        dry_run: dryRun,
      } = created.value;
      return ok({ projectId, jobId, taskIds, codenames, warnings, dryRun });
    },
    async listProjects(_caller, query) {
      const page = await listProjects(db, {
        ...(query.status === undefined ? {} : { status: [query.status as never] }),
        ...pageOf(query),
      });
      return ok({
        items: await Promise.all(page.projects.map((project) => projectView(ctx, project))),
        nextCursor: page.next,
      });
    },
    async showProject(_caller, name) {
      const found = await showProject(db, name);
      if (!found.ok) return found;
      const tasks = await listTasks(db, { projectId: found.value.id, limit: 500 }, ctx.store.clock.now());
      return ok({
        ...(await projectView(ctx, found.value)),
        jobs: await Promise.all(found.value.jobs.map((job) => jobView(db, job))),
        tasks: await Promise.all(tasks.tasks.map((task) => taskView(ctx, task, { inList: true }))),
      });
    },
    async addJob(caller, job) {
      const added = await once(ctx.store, caller, 'job.add', job, async (tx) => {
        const project = await findProject(tx.db, job.project);
        if (!project.ok) return project;
        const payload = {
          codename: job.codename,
          title: job.title,
          kind: job.kind,
          ...priorityOf(job),
          tasks: job.tasks.map(taskPayload),
        };
        const result = await addJob(tx, { projectId: project.value.id, payload, actor: caller.actor });
        return result.ok ? ok({ id: result.value.job.id }) : result;
      });
      if (!added.ok) return added;
      const shown = await showJob(db, added.value.id);
      return shown.ok ? ok(await jobView(db, shown.value)) : shown;
    },
    async listJobs(_caller, query) {
      const projects = query.project === undefined ? undefined : await findProject(db, query.project);
      if (projects && !projects.ok) return projects;
      let rows = db
        .selectFrom('job')
        .select('id')
        .orderBy('created_at')
        .orderBy('id')
        .limit(query.limit + 1);
      if (projects) rows = rows.where('project_id', '=', projects.value.id);
      if (query.cursor !== undefined) rows = rows.where('id', '>', query.cursor);
      const ids = (await rows.execute()).map((row) => row.id);
      const shown = await Promise.all(ids.slice(0, query.limit).map((id) => showJob(db, id)));
      const items = await Promise.all(shown.flatMap((job) => (job.ok ? [jobView(db, job.value)] : [])));
      return ok({ items, nextCursor: ids.length > query.limit ? (items.at(-1)?.id ?? null) : null });
    },
    async addTask(caller, job, task) {
      const added = await once(ctx.store, caller, 'task.add', { job, task }, async (tx) => {
        const found = await findJob(tx.db, job);
        if (!found.ok) return found;
        const inherited = await repositoryOfJob(tx, found.value.id);
        const result = await addTask(tx, {
          jobId: found.value.id,
          task: { ...inherited, ...taskPayload(task) },
          actor: caller.actor,
        });
        if (!result.ok) return result;
        const { id } = result.value.task;
        const budget = await applyBudget(tx, ctx, caller, { scope: 'task', subject: id }, task.budget);
        return budget.ok ? ok({ id }) : budget;
      });
      return added.ok ? ok(await taskView(ctx, added.value)) : added;
    },
    async listTasks(_caller, query): Promise<Result<Page<TaskView>>> {
      const project = query.project === undefined ? undefined : await findProject(db, query.project);
      if (project && !project.ok) return project;
      const job = query.job === undefined ? undefined : await findJob(db, query.job);
      if (job && !job.ok) return job;
      const filter = {
        ...(project ? { projectId: project.value.id } : {}),
        ...(job ? { jobId: job.value.id } : {}),
        ...(query.status === undefined ? {} : { status: [query.status as TaskStatus] }),
        ...pageOf(query),
      };
      const page = await listTasks(db, filter, ctx.store.clock.now());
      return ok({
        items: await Promise.all(page.tasks.map((task) => taskView(ctx, task, { inList: true }))),
        nextCursor: page.next,
      });
    },
    async showTask(_caller, name) {
      const found = await findTask(db, name);
      return found.ok ? ok(await taskView(ctx, found.value)) : found;
    },
    async readyTasks(_caller, limit) {
      const rows = await readyTasks(db, { limit });
      return ok(await Promise.all(rows.map((row) => taskView(ctx, row, { inList: true }))));
    },
    updateTask: (caller, name, change) =>
      changeTask(caller, name, 'task.update', change, (tx, task) => applyChange(tx, ctx, caller, task, change)),
    completeTask: (caller, name, reason) =>
      changeTask(caller, name, 'task.complete', reason, (tx, task) =>
        completeTask(tx, {
          taskId: task.id,
          by: { kind: 'human', reason, proof: caller.proof !== 'none' },
          actor: caller.actor,
        }),
      ),
    reopenTask: (caller, name, reason) =>
      changeTask(caller, name, 'task.reopen', reason, (tx, task) =>
        reopenTask(tx, { taskId: task.id, reason, actor: caller.actor }),
      ),
    async addDependency(caller, edge) {
      const added = await once(ctx.store, caller, 'task.block', edge, async (tx) => {
        const ends = await endsOf(tx, edge);
        if (!ends.ok) return ends;
        const result = await addDependency(tx, {
          blockedTaskId: ends.value.blocked.id,
          blockerTaskId: ends.value.blocker.id,
          actor: caller.actor,
        });
        const { blocked, blocker } = ends.value;
        return result.ok ? ok({ jobId: blocked.job_id, blocked: blocked.id, blocker: blocker.id }) : result;
      });
      return added;
    },
    removeDependency: (caller, edge) =>
      once(ctx.store, caller, 'task.unblock', edge, async (tx) => {
        const ends = await endsOf(tx, edge);
        if (!ends.ok) return ends;
        return removeDependency(tx, {
          blockedTaskId: ends.value.blocked.id,
          blockerTaskId: ends.value.blocker.id,
          actor: caller.actor,
        });
      }),
    async listDependencies(_caller, name) {
      const job = await findJob(db, name);
      if (!job.ok) return job;
      const edges = await listDependencies(db, job.value.id);
      return ok(edges.map((edge) => ({ jobId: job.value.id, blocked: edge.blocked.id, blocker: edge.blocker.id })));
    },
    listAgents: () => listAgentViews(ctx),
    addAgent: (caller, agent) => addAgent(ctx, caller, agent),
  };
}

/** Fields first, then the state: a change that is refused in part changes nothing. */
async function applyChange(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  task: TaskRow,
  change: TaskChange,
): Promise<Result<unknown>> {
  const { status, reason, budget, ...fields } = change;
  const capped = await applyBudget(tx, ctx, caller, { scope: 'task', subject: task.id }, budget);
  if (!capped.ok) return capped;
  const changes = { ...taskPayload(fields), ...(fields.assignee === null ? { assignee: null } : {}) };
  let current: Result<TaskRow> = ok(task);
  if (Object.keys(changes).length > 0) {
    current = await updateTask(tx, { taskId: task.id, version: task.version, changes, actor: caller.actor });
    if (!current.ok) return current;
  }
  if (status === undefined || status === current.value.status) return current;
  const wish = { taskId: task.id, actor: caller.actor, ...(reason === undefined ? {} : { reason }) };
  if (status === 'cancelled') {
    const ended = await endWorkOf(tx, ctx, { taskId: task.id }, caller.actor);
    return ended.ok ? cancelTask(tx, wish) : ended;
  }
  return status === 'paused' ? pauseTask(tx, wish) : resumeTask(tx, wish);
}

async function endsOf(
  tx: Tx,
  edge: { blocked: string; blocker: string },
): Promise<Result<{ blocked: TaskRow; blocker: TaskRow }>> {
  const blocked = await findTask(tx.db, edge.blocked);
  if (!blocked.ok) return blocked;
  const blocker = await findTask(tx.db, edge.blocker);
  return blocker.ok ? ok({ blocked: blocked.value, blocker: blocker.value }) : blocker;
}

/** A new or changed task, any member of which may be missing. */
type LooseTask = { [K in keyof NewTask]?: NewTask[K] | null | undefined };

/** Our names on the wire as the ledger's fields. */
function taskPayload(task: LooseTask): Record<string, unknown> {
  const { codename, title, description, assignee, priority, tokenEstimate, modelClass, position } = task;
  const fields = {
    key: codename,
    title,
    description,
    assignee: assignee ?? undefined,
    priority,
    tokens_estimated: tokenEstimate,
    model_recommended: modelClass,
    position,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function creationPayload(
  ctx: AppContext,
  project: Parameters<WorkUseCases['createProject']>[1],
): Promise<Result<Record<string, unknown>>> {
  const repository = project.repository === undefined ? undefined : await findRepository(ctx, project.repository);
  if (repository && !repository.ok) return repository;
  const place = repository ? { repository_id: repository.value.id, base: repository.value.base } : {};
  const tasks = project.firstTasks?.map((task) => ({ ...place, ...taskPayload(task) }));
  const { codename, title, priority, scope, currentFocus, notes, firstJob, firstTask } = project;
  const payload = {
    codename,
    title,
    priority,
    scope,
    current_focus: currentFocus,
    notes,
    first_job: firstJob,
    first_tasks: tasks,
    first_task: firstTask === undefined ? undefined : { ...place, ...taskPayload(firstTask) },
  };
  return ok(Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined)));
}

/** New tasks of a job work in the repository that its other tasks work in. */
async function repositoryOfJob(tx: Tx, jobId: string): Promise<Record<string, unknown>> {
  const sibling = await tx.db
    .selectFrom('task')
    .select(['repository_id', 'base'])
    .where('job_id', '=', jobId)
    .where('repository_id', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return sibling?.repository_id
    ? { repository_id: sibling.repository_id, ...(sibling.base ? { base: sibling.base } : {}) }
    : {};
}

function pageOf(query: { cursor?: string | undefined; limit: number }): { after?: string; limit: number } {
  return query.cursor === undefined ? { limit: query.limit } : { after: query.cursor, limit: query.limit };
}

function priorityOf(of: { priority?: string | undefined }): { priority?: string } {
  return of.priority === undefined ? {} : { priority: of.priority };
}
