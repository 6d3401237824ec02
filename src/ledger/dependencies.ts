import { type Actor, newId, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { closure } from './dependency-closure.ts';
import { type Blockers, depths, findPath, maxChain } from './dependency-graph.ts';
import { tasksTopic, wrongState } from './move-status.ts';
import { pauseTask } from './pause-work.ts';
import { type Db, lockTask, type TaskRow, unknownItem } from './rows.ts';
import { isOver } from './statuses.ts';

/** An edge with what a human needs to read it. */
export interface DependencyView {
  blocked: { id: string; codename: string; title: string; status: TaskRow['status'] };
  blocker: { id: string; codename: string; title: string; status: TaskRow['status'] };
  onCancel: 'unblock' | 'hold';
}

/**
 * Makes `blocked` wait for `blocker` (L-26 to L-28). A known edge changes nothing. Refuses with `cross_job_dependency`,
 * `dag_cycle` (naming the way), `dag_too_deep` (more than 100 tasks in a row), for a task that is over, and for one that
 * is being worked on unless `force`: then it is paused (decision 36).
 */
export async function addDependency(
  tx: Tx,
  edge: {
    blockedTaskId: string;
    blockerTaskId: string;
    /** What a cancelled blocker does; default `unblock`. */
    onCancel?: 'unblock' | 'hold';
    force?: boolean;
    actor: Actor;
  },
): Promise<Result<{ added: boolean }>> {
  const locked = await lockTask(tx, edge.blockedTaskId);
  if (!locked.ok) return locked;
  const { task: blocked } = locked.value;
  const blocker = await tx.db.selectFrom('task').selectAll().where('id', '=', edge.blockerTaskId).executeTakeFirst();
  if (!blocker) return unknownItem('task', edge.blockerTaskId);
  if (blocker.job_id !== blocked.job_id) {
    return refuse(
      'invalid',
      'cross_job_dependency',
      `${blocked.codename} and ${blocker.codename} are of different jobs; make one job wait for the other instead.`,
      { blocked: blocked.id, blocker: blocker.id },
    );
  }
  const known = await tx.db
    .selectFrom('task_dependency')
    .select('id')
    .where('blocked_task_id', '=', blocked.id)
    .where('blocker_task_id', '=', blocker.id)
    .executeTakeFirst();
  if (known) return ok({ added: false });
  if (isOver(blocked.status)) return wrongState('task', blocked, 'blocked');
  const refusal = await graphRefusal(tx, blocked, blocker);
  if (refusal) return refusal;
  if (blocked.status === 'doing') {
    if (!edge.force) {
      return refuse(
        'wrong-state',
        'task_started',
        `Task ${blocked.codename} is being worked on; use force to pause it and make it wait.`,
        { task: blocked.id },
      );
    }
    const paused = await pauseTask(tx, { taskId: blocked.id, actor: edge.actor });
    if (!paused.ok) return paused;
  }
  await tx.db
    .insertInto('task_dependency')
    .values({
      id: newId(),
      job_id: blocked.job_id,
      blocked_task_id: blocked.id,
      blocker_task_id: blocker.id,
      on_cancel: edge.onCancel ?? 'unblock',
      created_by: edge.actor.id,
      created_at: tx.now,
    })
    .execute();
  await tx.emit({
    kind: 'dependency.added',
    actor: edge.actor,
    subject: { kind: 'task', id: blocked.id },
    projectId: blocked.project_id,
    facts: { blocked: blocked.id, blocker: blocker.id, on_cancel: edge.onCancel ?? 'unblock' },
  });
  tx.wake(tasksTopic, blocked.id);
  return ok({ added: true });
}

/** Takes an edge away; nothing happens when there is none (L-27). */
export async function removeDependency(
  tx: Tx,
  edge: { blockedTaskId: string; blockerTaskId: string; actor: Actor },
): Promise<Result<{ removed: boolean }>> {
  const locked = await lockTask(tx, edge.blockedTaskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const removed = await tx.db
    .deleteFrom('task_dependency')
    .where('blocked_task_id', '=', task.id)
    .where('blocker_task_id', '=', edge.blockerTaskId)
    .returning('id')
    .executeTakeFirst();
  if (!removed) return ok({ removed: false });
  await tx.emit({
    kind: 'dependency.removed',
    actor: edge.actor,
    subject: { kind: 'task', id: task.id },
    projectId: task.project_id,
    facts: { blocked: task.id, blocker: edge.blockerTaskId },
  });
  tx.wake(tasksTopic, task.id);
  return ok({ removed: true });
}

/** All edges of a job, with titles (L-27). */
export async function listDependencies(db: Db, jobId: string): Promise<DependencyView[]> {
  return edgeViews(db, { jobId });
}

/** The direct blockers of a task. */
export async function blockersOf(db: Db, taskId: string): Promise<DependencyView[]> {
  return edgeViews(db, { taskId });
}

/** Whether every blocker of the task is resolved (L-29); false for an unknown task. */
export async function isTaskUnblocked(db: Db, taskId: string): Promise<boolean> {
  const row = await db.selectFrom('task').select('open_blockers').where('id', '=', taskId).executeTakeFirst();
  return row?.open_blockers === 0;
}

async function edgeViews(db: Db, which: { jobId: string } | { taskId: string }): Promise<DependencyView[]> {
  let query = db
    .selectFrom('task_dependency as edge')
    .innerJoin('task as a', 'a.id', 'edge.blocked_task_id')
    .innerJoin('task as b', 'b.id', 'edge.blocker_task_id')
    .select([
      ...(['a.id as a_id', 'a.codename as a_codename', 'a.title as a_title', 'a.status as a_status'] as const),
      ...(['b.id as b_id', 'b.codename as b_codename', 'b.title as b_title', 'b.status as b_status'] as const),
      'edge.on_cancel',
    ])
    .orderBy('a.seq')
    .orderBy('b.seq');
  query =
    'jobId' in which
      ? query.where('edge.job_id', '=', which.jobId)
      : query.where('edge.blocked_task_id', '=', which.taskId);
  const rows = await query.execute();
  return rows.map((row) => ({
    blocked: { id: row.a_id, codename: row.a_codename, title: row.a_title, status: row.a_status },
    blocker: { id: row.b_id, codename: row.b_codename, title: row.b_title, status: row.b_status },
    onCancel: row.on_cancel,
  }));
}

async function graphRefusal(tx: Tx, blocked: TaskRow, blocker: TaskRow): Promise<Refused | undefined> {
  const facts = { blocked: blocked.id, blocker: blocker.id };
  if (blocked.id === blocker.id) {
    return refuse('invalid', 'dag_cycle', `Task ${blocked.codename} cannot wait for itself.`, facts);
  }
  const above = await closure(tx.db, [blocker.id], 'blockers');
  const path = findPath(above, blocker.id, blocked.id);
  if (path) {
    return refuse(
      'invalid',
      'dag_cycle',
      `${blocker.codename} already waits for ${blocked.codename}${path.length > 2 ? `, by ${path.length - 2} others` : ''}: the new edge would close a circle.`,
      { ...facts, path },
    );
  }
  const chain =
    chainLength(above, blocker.id) + chainLength(await closure(tx.db, [blocked.id], 'dependents'), blocked.id);
  if (chain <= maxChain) return undefined;
  return refuse(
    'invalid',
    'dag_too_deep',
    `With this edge ${chain} tasks would wait for one another in a row; at most ${maxChain} may.`,
    { ...facts, chain },
  );
}

function chainLength(edges: Blockers, item: string): number {
  const result = depths(edges);
  if ('cycle' in result) throw new Error(`the dependency graph around task ${item} has a cycle`);
  return result.depth.get(item) ?? 1;
}
