import { digestOf, newShortId, ok, refuse, type Result } from '../../kernel/index.ts';
import { detectRepository, type Repository, snapshotChanges, type DetectedRepository } from '../../forge/index.ts';
import { createProject, findAgent, proposeCodename, showJob, showProject } from '../../ledger/index.ts';
import type { RunRequest, RunView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { whyDispatchWaits, whyNoWorkIsTaken } from '../dispatch/dispatch-tasks.ts';
import { once } from '../once.ts';
import { findRepository, registerCheckout, settleTrust } from '../repositories/register-repository.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { applyBudget } from '../spending/apply-budget.ts';
import { jobView, projectView, taskView } from './views.ts';

/**
 * `run`: a request becomes project, job and task in one transaction; the dispatcher goes on from there (design section 9).
 * The repository is registered when it is not yet. Uncommitted work stays where it is and is named; with `withChanges` a
 * snapshot of it is what the work starts from. A machine without room refuses nothing: the work waits, and `held` says why.
 */
export async function runRequest(ctx: AppContext, caller: Caller, request: RunRequest): Promise<Result<RunView>> {
  const allowed = await whyNoWorkIsTaken(ctx);
  if (!allowed.ok) return allowed;
  const reachable = await openRepository(ctx, caller, request);
  if (!reachable.ok) return reachable;
  const { repository, detected } = reachable.value;
  if (request.agent !== undefined) {
    const agent = await findAgent(ctx.store.read, request.agent);
    if (!agent.ok) return agent;
    if (!agent.value.isActive || !agent.value.roles.includes('author')) {
      return refuse(
        'invalid',
        'agent_no_author',
        `Agent ${request.agent} may not author: choose another one or give it the role.`,
        { agent: request.agent },
      );
    }
  }
  const settled = await ctx.store.tx((tx) => settleTrust(tx, ctx, caller, repository));
  if (!settled.ok) return settled;
  const synced = await syncBase(ctx, repository);
  if (!synced.ok) return synced;
  const start = await startOf(ctx, caller, request, repository);
  if (!start.ok) return start;
  const created = await createWork(ctx, caller, request, repository, start.value);
  if (!created.ok) return created;
  const { projectId, jobId, taskId, warnings } = created.value;
  await ctx.store.tx(async (tx) => tx.wake('tasks', taskId));
  const view = await runView(ctx, { projectId, jobId, taskId });
  const { staged, unstaged, untracked } = detected.dirty;
  return ok({
    ...view,
    repositoryId: repository.id,
    base: repository.base,
    baseCommit: synced.value.base,
    notIncluded: request.withChanges ? [] : [...new Set([...staged, ...unstaged, ...untracked])],
    // With something trusted the work goes on under that; the question about the newer configuration waits by itself.
    waitsFor: settled.value.repository.isTrusted ? null : (settled.value.decisionId ?? null),
    held: await whyDispatchWaits(ctx),
    // Whoever says `run` gives no token estimate, so that one was made is no news.
    warnings: warnings.filter((warning) => !warning.includes('has no token estimate')),
  });
}

async function openRepository(
  ctx: AppContext,
  caller: Caller,
  request: RunRequest,
): Promise<Result<{ repository: Repository; detected: DetectedRepository }>> {
  if (!request.repository.startsWith('/')) {
    const found = await findRepository(ctx, request.repository);
    if (!found.ok) return found;
    const detected = await detectRepository(ctx.forge, found.value.operatorPath, { base: found.value.base });
    return detected.ok ? ok({ repository: found.value, detected: detected.value }) : detected;
  }
  return registerCheckout(ctx, caller, { path: request.repository });
}

/** `createProject` in the transaction of the idempotency key; the first task carries the request as it was written. */
async function createWork(
  ctx: AppContext,
  caller: Caller,
  request: RunRequest,
  repository: Repository,
  base: string,
): Promise<Result<{ projectId: string; jobId: string; taskId: string; warnings: string[] }>> {
  const title = request.title ?? titleOf(request.request);
  return once(ctx.store, caller, 'run', request, async (tx) => {
    const codename = proposeCodename(title, newShortId(6));
    const payload = {
      codename,
      title,
      first_job: { codename: 'work', title },
      first_task: {
        title,
        request: request.request,
        repository_id: repository.id,
        base,
        ...(request.agent === undefined ? {} : { assignee: request.agent }),
      },
    };
    const created = await createProject(tx, { payload, actor: caller.actor, origin: 'run' });
    if (!created.ok) return created;
    const { project_id: projectId, job_id: jobId, task_id: taskId, warnings } = created.value;
    const budget = await applyBudget(tx, ctx, caller, { scope: 'project', subject: projectId! }, request.budget);
    return budget.ok ? ok({ projectId: projectId!, jobId: jobId!, taskId: taskId!, warnings }) : budget;
  });
}

/** What the work starts from: the base, or a snapshot of the uncommitted work, taken before anything can be dispatched. */
async function startOf(
  ctx: AppContext,
  caller: Caller,
  request: RunRequest,
  repository: Repository,
): Promise<Result<string>> {
  if (!request.withChanges) return ok(repository.base);
  const key = `run-${digestOf({ scope: caller.scope, key: caller.idempotencyKey }).slice(0, 24)}`;
  const snapshot = await snapshotChanges(ctx.forge, repository, key);
  if (snapshot.ok) return ok(snapshot.value.ref);
  return snapshot.refusal.code === 'nothing_to_snapshot' ? ok(repository.base) : snapshot;
}

/** The first line of the request, at most 120 characters. */
export function titleOf(request: string): string {
  const line =
    request
      .split('\n')
      .find((text) => text.trim() !== '')
      ?.trim() ?? 'Untitled request';
  const characters = [...line];
  return characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : line;
}

async function runView(
  ctx: AppContext,
  ids: { projectId: string; jobId: string; taskId: string },
): Promise<Pick<RunView, 'project' | 'job' | 'task'>> {
  const db = ctx.store.read;
  const [project, job] = [await showProject(db, ids.projectId), await showJob(db, ids.jobId)];
  if (!project.ok || !job.ok) throw new Error(`work ${ids.projectId} was created and cannot be read`);
  return {
    project: await projectView(ctx, project.value),
    job: await jobView(db, job.value),
    task: await taskView(ctx, { id: ids.taskId }),
  };
}
