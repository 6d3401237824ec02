import { mustOk, systemActor } from '../kernel/index.ts';
import { openDecision, type Tx, voidDecisions } from '../store/index.ts';
import { moveJob, moveProject, qaTopic } from './move-status.ts';
import type { JobRow, ProjectRow } from './rows.ts';
import { isOver } from './statuses.ts';

const cascade = systemActor('cascade');

/**
 * Brings a job to where its tasks say it is, then its project to where its jobs say: to be called after each change of a
 * task, in its transaction, with project and job locked. It looks at what is there, so a second call changes nothing.
 * Source: L-53 to L-58, README 2.8, decisions 9 to 11.
 */
export async function settleJob(tx: Tx, jobId: string, cause: string): Promise<void> {
  const job = await tx.db.selectFrom('job').selectAll().where('id', '=', jobId).executeTakeFirstOrThrow();
  if (isOver(job.status) || job.status === 'paused') return;
  const left = await whatIsLeft(tx, jobId);
  if (left === 'work' && job.status === 'review') {
    mustOk(await moveJob(tx, job, { to: 'dev', event: 'job.returned', actor: cascade, cause }));
  } else if (left === 'waiting' && job.status === 'dev') {
    mustOk(await moveJob(tx, job, { to: 'review', event: 'job.review-started', actor: cascade, cause }));
  } else if (left === 'none, some done') {
    await endJob(tx, job, cause);
  } else if (left === 'none, none done') {
    await reportNothingDelivered(tx, { kind: 'job', row: job, projectId: job.project_id }, cause);
  }
}

/**
 * What remains of a job: `work` (a task to do, paused or worked on), `waiting` (only deliveries that wait for their pull
 * requests), nothing with or without something done, or `no tasks` at all.
 */
async function whatIsLeft(
  tx: Tx,
  jobId: string,
): Promise<'work' | 'waiting' | 'none, some done' | 'none, none done' | 'no tasks'> {
  const ofJob = tx.db.selectFrom('task').select('task.id').where('job_id', '=', jobId).limit(1);
  if (await ofJob.where('status', 'in', ['todo', 'paused']).executeTakeFirst()) return 'work';
  const doing = await ofJob.clearLimit().where('status', '=', 'doing').execute();
  if (doing.length > 0) {
    const idle = await tx.db
      .selectFrom('task_delivery')
      .select('task_id')
      .where('ended_at', 'is', null)
      .where(
        'task_id',
        'in',
        doing.map((task) => task.id),
      )
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('lease')
              .select('lease.id')
              .whereRef('lease.resource_id', '=', 'task_delivery.task_id')
              .where('lease.resource_type', '=', 'task')
              .where('lease.slot', '=', 'dispatcher')
              .where('lease.released_at', 'is', null),
          ),
        ),
      )
      .execute();
    return idle.length === doing.length ? 'waiting' : 'work';
  }
  if (await ofJob.where('status', '=', 'done').executeTakeFirst()) return 'none, some done';
  return (await ofJob.executeTakeFirst()) ? 'none, none done' : 'no tasks';
}

/** All tasks are over and something is done: to QA where there is a team, else done (L-54). Discovery is not tested. */
async function endJob(tx: Tx, job: JobRow, cause: string): Promise<void> {
  const isTested =
    job.kind !== 'discovery' && job.status !== 'planning' && (await hasValidationTeam(tx, job.project_id));
  if (isTested) {
    await startQa(tx, job, cause);
    return;
  }
  const ended = mustOk(await moveJob(tx, job, { to: 'done', event: 'job.completed', actor: cascade, cause }));
  await afterJobEnded(tx, ended.row, ended.eventId);
}

/** Live assignments of active agents only: history does not count (decision 14). */
async function hasValidationTeam(tx: Tx, projectId: string): Promise<boolean> {
  const member = await tx.db
    .selectFrom('assignment')
    .innerJoin('agent', 'agent.id', 'assignment.agent_id')
    .select('assignment.id')
    .where('assignment.project_id', '=', projectId)
    .where('assignment.unassigned_at', 'is', null)
    .where('assignment.role', 'in', ['validation', 'lead_validation'])
    .where('agent.active', '=', 1)
    .limit(1)
    .executeTakeFirst();
  return member !== undefined;
}

async function startQa(tx: Tx, job: JobRow, cause: string): Promise<void> {
  if (job.status !== 'review') {
    mustOk(await moveJob(tx, job, { to: 'review', event: 'job.review-started', actor: cascade, cause }));
  }
  await tx.emit({
    kind: 'job.qa-wanted',
    actor: cascade,
    subject: { kind: 'job', id: job.id },
    projectId: job.project_id,
    cause,
  });
  tx.wake(qaTopic, job.id);
  await openDecision(tx, {
    kind: 'human_review',
    subject: { kind: 'job', id: job.id },
    projectId: job.project_id,
    title: `Job ${job.codename} is finished: confirm it, or send it back with a new task`,
    detail: { job: job.id, codename: job.codename },
  });
}

/** What a job's end leads to: jobs that waited for it start, and its project is looked at. */
export async function afterJobEnded(tx: Tx, job: JobRow, cause: string): Promise<void> {
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${job.id}` }, 'job ended');
  await voidDecisions(tx, { dedupeKey: `human_review:${job.id}` }, 'job ended');
  await startUnblockedJobs(tx, job.id, cause);
  await settleProject(tx, job.project_id, cause);
}

/** Starts the jobs that waited for this one and for nothing else (decision 33). */
async function startUnblockedJobs(tx: Tx, endedJobId: string, cause: string): Promise<void> {
  const waiting = await tx.db
    .selectFrom('job')
    .selectAll('job')
    .innerJoin('job_dependency', 'job_dependency.blocked_job_id', 'job.id')
    .where('job_dependency.blocker_job_id', '=', endedJobId)
    .where('job.status', '=', 'planning')
    .where('job.open_blockers', '=', 0)
    .where('job.starts_when_unblocked', '=', 1)
    .orderBy('job.seq')
    .execute();
  for (const job of waiting) {
    await startJobNow(tx, job, cause);
  }
}

/** Takes a job from planning to dev, and its project with it. */
export async function startJobNow(tx: Tx, job: JobRow, cause: string): Promise<void> {
  const moved = await moveJob(tx, job, {
    to: 'dev',
    event: 'job.started',
    actor: cascade,
    cause,
    set: { starts_when_unblocked: 0 },
  });
  await startProject(tx, job.project_id, mustOk(moved).eventId);
}

/** A project with a job in dev is in dev: from planning by starting, from test by going back (decision 11). */
export async function startProject(tx: Tx, projectId: string, cause: string): Promise<void> {
  const project = await readProject(tx, projectId);
  if (project.status === 'planning') {
    mustOk(await moveProject(tx, project, { to: 'dev', event: 'project.started', actor: cascade, cause }));
  } else if (project.status === 'test') {
    mustOk(await moveProject(tx, project, { to: 'dev', event: 'project.returned', actor: cascade, cause }));
  }
}

/** Brings a project to where its jobs say it is (L-19, L-56, L-58). */
export async function settleProject(tx: Tx, projectId: string, cause: string): Promise<void> {
  const project = await readProject(tx, projectId);
  if (project.status !== 'planning' && project.status !== 'dev') return;
  const jobs = tx.db.selectFrom('job').select('id').where('project_id', '=', projectId).limit(1);
  if (await jobs.where('status', 'not in', ['done', 'cancelled']).executeTakeFirst()) return;
  const done = jobs.where('status', '=', 'done');
  if (await done.where('kind', '<>', 'discovery').executeTakeFirst()) {
    mustOk(await moveProject(tx, project, { to: 'test', event: 'project.promoted', actor: cascade, cause }));
  } else if (await done.executeTakeFirst()) {
    await reportDiscoveryFinished(tx, project, cause);
  } else if (await jobs.executeTakeFirst()) {
    await reportNothingDelivered(tx, { kind: 'project', row: project, projectId }, cause);
  }
}

async function reportDiscoveryFinished(tx: Tx, project: ProjectRow, cause: string): Promise<void> {
  await tx.emit({
    kind: 'project.discovery-finished',
    actor: cascade,
    subject: { kind: 'project', id: project.id },
    projectId: project.id,
    cause,
  });
  await openDecision(tx, {
    kind: 'decomposition_stopped',
    subject: { kind: 'project', id: project.id },
    projectId: project.id,
    title: `Discovery of project ${project.codename} is finished: add the jobs that follow from it`,
    detail: { project: project.id, codename: project.codename, reason: 'not_decomposed' },
  });
}

/** Everything was cancelled and nothing is done: nothing moves, a human is asked once (L-58, decision 9). */
async function reportNothingDelivered(
  tx: Tx,
  subject: { kind: 'job' | 'project'; row: JobRow | ProjectRow; projectId: string },
  cause: string,
): Promise<void> {
  const { kind, row, projectId } = subject;
  await tx.emit({
    kind: kind === 'job' ? 'job.nothing-delivered' : 'project.nothing-delivered',
    actor: cascade,
    subject: { kind, id: row.id },
    projectId,
    cause,
  });
  await openDecision(tx, {
    kind: 'nothing_delivered',
    subject: { kind, id: row.id },
    projectId,
    title: `Nothing was delivered in ${kind} ${row.codename}: cancel it, or add a task`,
    detail: { [kind]: row.id, codename: row.codename },
  });
}

function readProject(tx: Tx, projectId: string): Promise<ProjectRow> {
  return tx.db.selectFrom('project').selectAll().where('id', '=', projectId).executeTakeFirstOrThrow();
}
