import type { Actor, Result } from '../kernel/index.ts';
import {
  acquireLease,
  checkFence,
  hasExpired,
  type Lease,
  type LeaseSubject,
  liveLease,
  releaseLease,
  renewLease,
  type Schema,
  type Tx,
} from '../store/index.ts';
import type { Db, TaskRow } from './rows.ts';

/** How long a claim holds without a sign of life: 90 s, renewed each 30 s (README section 4). */
export const claimTtlMs = 90_000;

/** A task that is yours until the lease ends; every later write carries `fence`. */
export interface Claim {
  task: TaskRow;
  holder: string;
  fence: number;
}

/** The lease of a task's claim (README 2.2). */
export function claimSubject(taskId: string): LeaseSubject {
  return { resourceType: 'task', resourceId: taskId, slot: 'dispatcher' };
}

/** Takes or renews the lease of a claim. */
export function takeClaim(
  tx: Tx,
  taskId: string,
  claim: { holder: string; actor: Actor; ttlMs?: number },
): Promise<Result<Lease>> {
  return acquireLease(tx, claimSubject(taskId), {
    holder: claim.holder,
    ttlMs: claim.ttlMs ?? claimTtlMs,
    actor: claim.actor,
  });
}

/** The unreleased lease of a task, expired or not. */
export function claimOf(tx: Tx, taskId: string): Promise<Schema['lease'] | undefined> {
  return liveLease(tx, claimSubject(taskId));
}

/** Renews a claim (each 30 s); refuses with `held`/`lease_lost` when it is no longer yours. `evenIfExpired`: see `renewLease`. */
export function heartbeat(
  tx: Tx,
  claim: { taskId: string; fence: number; evenIfExpired?: boolean },
): Promise<Result<undefined>> {
  const { evenIfExpired = false } = claim;
  return renewLease(tx, claimSubject(claim.taskId), claim.fence, { evenIfExpired });
}

/** Whether `fence` is the live claim of the task: what every write of a session asks first. */
export function checkClaim(tx: Tx, claim: { taskId: string; fence: number }): Promise<Result<Lease>> {
  return checkFence(tx, claimSubject(claim.taskId), claim.fence);
}

/** Ends whatever claim the task has; gives whether there was one. */
export function endClaim(tx: Tx, taskId: string, reason: string, actor: Actor): Promise<boolean> {
  return releaseLease(tx, claimSubject(taskId), { reason, actor });
}

/** Claims whose time is over: to be judged by liveness, then released or adopted (design section 5). */
export async function expiredClaims(
  db: Db,
  now: number,
  limit = 100,
): Promise<{ taskId: string; holder: string; fence: number; lastActivityAt: number }[]> {
  const rows = await db
    .selectFrom('lease')
    .selectAll()
    .where('resource_type', '=', 'task')
    .where('slot', '=', 'dispatcher')
    .where('released_at', 'is', null)
    .orderBy('last_activity_at')
    .execute();
  return rows
    .filter((row) => hasExpired(row, now))
    .slice(0, limit)
    .map((row) => ({
      taskId: row.resource_id,
      holder: row.holder,
      fence: row.fence,
      lastActivityAt: row.last_activity_at,
    }));
}

/** The delivery of a task that waits for its pull request, if any. */
export async function openDelivery(db: Db, taskId: string): Promise<Schema['task_delivery'] | undefined> {
  return db
    .selectFrom('task_delivery')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
}

/** Ends the delivery of a task, if it has one. */
export async function endDeliveryRow(
  tx: Tx,
  taskId: string,
  outcome: NonNullable<Schema['task_delivery']['outcome']>,
): Promise<boolean> {
  const ended = await tx.db
    .updateTable('task_delivery')
    .set({ ended_at: tx.now, outcome })
    .where('task_id', '=', taskId)
    .where('ended_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return ended !== undefined;
}
