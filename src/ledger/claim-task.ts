import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import { hasExpired, type Tx } from '../store/index.ts';
import { settleJob } from './cascade.ts';
import { type Claim, claimOf, openDelivery, takeClaim } from './claims.ts';
import { startIfReady, tasksTopic, wrongState } from './move-status.ts';
import { type ReadyFilter, readyQuery } from './ready-tasks.ts';
import { lockTask, type TaskRow, unknownItem } from './rows.ts';

/** Who claims: `holder` names the lease's owner (a session or a node). */
export interface Claimant {
  holder: string;
  actor: Actor;
  sessionId?: string;
  /** Default 90 s. */
  ttlMs?: number;
}

/**
 * Claims one task: todo → doing and the lease, in one transaction; of two racing claimers one wins. Claimed again by the
 * same holder it is renewed. Refuses with `held` (who has it), `task_blocked` (by which tasks), `task_held` (by its job or
 * project), `task_delivered`, or the state found.
 */
export async function claimTask(tx: Tx, claim: Claimant & { taskId: string }): Promise<Result<Claim>> {
  const task = await startIfReady(tx, claim.taskId);
  if (!task) return reclaimOrRefuse(tx, claim);
  return afterStart(tx, task, claim);
}

/**
 * Claims the first ready task that fits, or gives null when there is none. Racing claimers get different tasks: on
 * PostgreSQL rows that another one is about to take are skipped.
 */
export async function claimNext(tx: Tx, claim: Claimant & { filter?: ReadyFilter }): Promise<Result<Claim | null>> {
  for (;;) {
    let query = readyQuery(tx.db, claim.filter ?? {})
      .select('task.id')
      .limit(1);
    if (tx.dialect === 'postgres') query = query.forUpdate('task').skipLocked();
    const found = await query.executeTakeFirst();
    if (!found) return ok(null);
    const task = await startIfReady(tx, found.id);
    if (task) return afterStart(tx, task, claim);
  }
}

/**
 * Takes up a delivered task again to answer its review: the task stays doing, its job goes back to dev (README 2.8).
 * Refuses when it is not delivered or somebody has it.
 */
export async function claimRework(tx: Tx, claim: Claimant & { taskId: string }): Promise<Result<Claim>> {
  const locked = await lockTask(tx, claim.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const delivery = await openDelivery(tx.db, task.id);
  if (task.status !== 'doing' || !delivery) {
    return refuse('wrong-state', 'task_not_delivered', `Task ${task.codename} does not wait for a pull request.`, {
      task: task.id,
      status: task.status,
    });
  }
  const lease = await takeClaim(tx, task.id, claim);
  if (!lease.ok) return lease;
  const cause = await tx.emit({
    kind: 'task.rework-claimed',
    actor: claim.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    ...(claim.sessionId ? { sessionId: claim.sessionId } : {}),
    facts: { fence: lease.value.fence, pull_request: delivery.pull_request_id },
  });
  tx.wake(tasksTopic, task.id);
  await settleJob(tx, task.job_id, cause);
  return ok({ task, holder: claim.holder, fence: lease.value.fence });
}

async function afterStart(tx: Tx, task: TaskRow, claim: Claimant): Promise<Result<Claim>> {
  const lease = await takeClaim(tx, task.id, claim);
  if (!lease.ok) return lease;
  await tx.emit({
    kind: 'task.claimed',
    actor: claim.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    ...(claim.sessionId ? { sessionId: claim.sessionId } : {}),
    facts: { from: 'todo', to: 'doing', holder: claim.holder, fence: lease.value.fence },
  });
  tx.wake(tasksTopic, task.id);
  return ok({ task, holder: claim.holder, fence: lease.value.fence });
}

/** The task was not ready: the same holder keeps its claim, everybody else learns why. */
async function reclaimOrRefuse(tx: Tx, claim: Claimant & { taskId: string }): Promise<Result<Claim>> {
  const task = await tx.db.selectFrom('task').selectAll().where('id', '=', claim.taskId).executeTakeFirst();
  if (!task) return unknownItem('task', claim.taskId);
  const facts = { task: task.id, status: task.status };
  if (task.status === 'doing') {
    const lease = await claimOf(tx, task.id);
    if (lease?.holder === claim.holder) {
      const renewed = await takeClaim(tx, task.id, claim);
      return renewed.ok ? ok({ task, holder: claim.holder, fence: renewed.value.fence }) : renewed;
    }
    if (lease) {
      const expired = hasExpired(lease, tx.now);
      const next = expired ? 'Its time is over; whether it still lives is being judged.' : 'Take another one.';
      return refuse(
        'held',
        expired ? 'claim_expired' : 'task_claimed',
        `Task ${task.codename} is held by ${lease.holder}. ${next}`,
        { ...facts, holder: lease.holder },
      );
    }
    const delivery = await openDelivery(tx.db, task.id);
    if (delivery) {
      return refuse(
        'wrong-state',
        'task_delivered',
        `Task ${task.codename} is delivered and waits for its pull request; there is nothing to start.`,
        { ...facts, pull_request: delivery.pull_request_id },
      );
    }
  }
  if (task.status !== 'todo') return wrongState('task', task, 'doing');
  if (task.open_blockers > 0) {
    const blockers = await tx.db
      .selectFrom('task_dependency')
      .innerJoin('task', 'task.id', 'task_dependency.blocker_task_id')
      .select('task.codename')
      .where('blocked_task_id', '=', task.id)
      .where('task.status', '<>', 'done')
      .orderBy('task.seq')
      .execute();
    const names = blockers.map((row) => row.codename);
    return refuse(
      'wrong-state',
      'task_blocked',
      `Task ${task.codename} waits for ${names.join(', ')}. Finish or cancel what it waits for first.`,
      { ...facts, blockers: names },
    );
  }
  const above = await tx.db
    .selectFrom('job')
    .innerJoin('project', 'project.id', 'job.project_id')
    .select(['job.status as job', 'project.status as project', 'job.open_blockers'])
    .where('job.id', '=', task.job_id)
    .executeTakeFirstOrThrow();
  return refuse(
    'wrong-state',
    'task_held',
    `Task ${task.codename} does not start: its job is ${above.job}${above.open_blockers > 0 ? ' and waits for another job' : ''}, its project ${above.project}.`,
    { ...facts, job_status: above.job, project_status: above.project },
  );
}
