import { type Actor, newId, ok, refuse, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { startJobNow } from './cascade.ts';
import { findPath } from './dependency-graph.ts';
import { moveJob, tasksTopic, wrongState } from './move-status.ts';
import { type Db, type JobRow, lockJob, unknownItem } from './rows.ts';
import { isOver } from './statuses.ts';

/**
 * Makes one job wait for another of the same project (L-30, decision 33): it may not go to dev before that one is done or
 * cancelled. A known edge changes nothing. Refuses across projects, with `job_cycle`, and for a job that has started
 * unless `force`: then it is paused.
 */
export async function addJobDependency(
  tx: Tx,
  edge: { blockedJobId: string; blockerJobId: string; force?: boolean; actor: Actor },
): Promise<Result<{ added: boolean }>> {
  const locked = await lockJob(tx, edge.blockedJobId);
  if (!locked.ok) return locked;
  const blocked = locked.value.job;
  const blocker = await tx.db.selectFrom('job').selectAll().where('id', '=', edge.blockerJobId).executeTakeFirst();
  if (!blocker) return unknownItem('job', edge.blockerJobId);
  const facts = { blocked: blocked.id, blocker: blocker.id };
  if (blocker.project_id !== blocked.project_id) {
    return refuse(
      'invalid',
      'cross_project_dependency',
      'Jobs of different projects cannot wait for one another.',
      facts,
    );
  }
  const edges = await edgesOf(tx, blocked.project_id);
  if ((edges.get(blocked.id) ?? []).includes(blocker.id)) return ok({ added: false });
  if (findPath(edges, blocker.id, blocked.id)) {
    return refuse(
      'invalid',
      'job_cycle',
      `Job ${blocker.codename} is or waits for ${blocked.codename} already: the new edge would close a circle.`,
      facts,
    );
  }
  if (isOver(blocked.status)) return wrongState('job', blocked, 'blocked');
  const mustWait = !isOver(blocker.status) && blocked.status !== 'planning' && blocked.status !== 'paused';
  if (mustWait && !edge.force) {
    return refuse(
      'wrong-state',
      'job_started',
      `Job ${blocked.codename} is ${blocked.status} already; use force to pause it and make it wait.`,
      { ...facts, status: blocked.status },
    );
  }
  if (mustWait) {
    const paused = await moveJob(tx, blocked, { to: 'paused', event: 'job.paused', actor: edge.actor });
    if (!paused.ok) return paused;
  }
  await insertJobEdge(tx, { blocked, blocker, actor: edge.actor });
  return ok({ added: true });
}

/** Takes an edge away; a job that waited for nothing else starts where it was meant to. */
export async function removeJobDependency(
  tx: Tx,
  edge: { blockedJobId: string; blockerJobId: string; actor: Actor },
): Promise<Result<{ removed: boolean }>> {
  const locked = await lockJob(tx, edge.blockedJobId);
  if (!locked.ok) return locked;
  const { job } = locked.value;
  const removed = await tx.db
    .deleteFrom('job_dependency')
    .where('blocked_job_id', '=', job.id)
    .where('blocker_job_id', '=', edge.blockerJobId)
    .returning('id')
    .executeTakeFirst();
  if (!removed) return ok({ removed: false });
  const cause = await tx.emit({
    kind: 'job-dependency.removed',
    actor: edge.actor,
    subject: { kind: 'job', id: job.id },
    projectId: job.project_id,
    facts: { blocked: job.id, blocker: edge.blockerJobId },
  });
  tx.wake(tasksTopic, job.id);
  const now = await tx.db.selectFrom('job').selectAll().where('id', '=', job.id).executeTakeFirstOrThrow();
  if (now.status === 'planning' && now.starts_when_unblocked === 1 && now.open_blockers === 0) {
    await startJobNow(tx, now, cause);
  }
  return ok({ removed: true });
}

/** The edges between jobs of a project. */
export async function listJobDependencies(
  db: Db,
  projectId: string,
): Promise<{ blockedJobId: string; blockerJobId: string }[]> {
  const rows = await db
    .selectFrom('job_dependency')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ blockedJobId: row.blocked_job_id, blockerJobId: row.blocker_job_id }));
}

/** Stores an edge that was checked, and its event. */
export async function insertJobEdge(
  tx: Tx,
  edge: { blocked: JobRow; blocker: JobRow; actor: Actor; cause?: string },
): Promise<void> {
  const { blocked, blocker } = edge;
  await tx.db
    .insertInto('job_dependency')
    .values({
      id: newId(),
      project_id: blocked.project_id,
      blocked_job_id: blocked.id,
      blocker_job_id: blocker.id,
      created_at: tx.now,
    })
    .execute();
  await tx.emit({
    kind: 'job-dependency.added',
    actor: edge.actor,
    subject: { kind: 'job', id: blocked.id },
    projectId: blocked.project_id,
    ...(edge.cause ? { cause: edge.cause } : {}),
    facts: { blocked: blocked.id, blocker: blocker.id },
  });
}

async function edgesOf(tx: Tx, projectId: string): Promise<Map<string, string[]>> {
  const edges = new Map<string, string[]>();
  for (const edge of await listJobDependencies(tx.db, projectId)) {
    edges.set(edge.blockedJobId, [...(edges.get(edge.blockedJobId) ?? []), edge.blockerJobId]);
  }
  return edges;
}
