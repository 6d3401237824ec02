import { type Actor, ok, refuse, type Result } from '../kernel/index.ts';
import { type Tx, voidDecisions } from '../store/index.ts';
import { settleJob } from './cascade.ts';
import { checkClaim, endClaim, endDeliveryRow } from './claims.ts';
import { moveTask } from './move-status.ts';
import { type LockedTask, lockTask, type TaskRow } from './rows.ts';
import { keepReason, reasonRefusal } from './texts.ts';

/** The three ways in which a task becomes done (design section 7). A crash is none of them. */
export type Completion =
  /** Its change is on the base. Repeated for a task that is already done, nothing happens. */
  | { kind: 'landing'; landingId: string }
  /** Its session says so; only for a task without a repository. */
  | { kind: 'session'; fence: number; sessionId: string }
  /** An operator says so, with a reason; with a repository only with proof. */
  | { kind: 'human'; reason: string; proof: boolean };

/**
 * Makes a task done and cascades to its job and project in the same transaction (L-53 to L-56). What it blocked becomes
 * ready. A human may complete a task that nobody started, but not one that waits for others.
 */
export async function completeTask(
  tx: Tx,
  completion: { taskId: string; by: Completion; actor: Actor; cause?: string },
): Promise<Result<{ task: TaskRow; already: boolean }>> {
  const locked = await lockTask(tx, completion.taskId);
  if (!locked.ok) return locked;
  const { task } = locked.value;
  const { by, actor } = completion;
  if (task.status === 'done' && by.kind === 'landing') return ok({ task, already: true });
  const refusal = await completionRefusal(tx, task, by, actor);
  if (refusal) return refusal;

  const doing = await asDoing(tx, locked.value, completion);
  if (!doing.ok) return doing;
  if (by.kind === 'human') {
    await keepReason(tx, { kind: 'task', id: task.id, projectId: task.project_id }, 'complete', by.reason, actor);
  }
  const moved = await moveTask(tx, doing.value, {
    to: 'done',
    event: 'task.completed',
    actor,
    ...(completion.cause ? { cause: completion.cause } : {}),
    ...(by.kind === 'session' ? { sessionId: by.sessionId } : {}),
    facts: { by: by.kind, landing: by.kind === 'landing' ? by.landingId : null },
  });
  if (!moved.ok) return moved;
  await endClaim(tx, task.id, by.kind === 'human' ? 'completed by a human' : 'completed', actor);
  await endDeliveryRow(tx, task.id, by.kind === 'landing' ? 'landed' : 'completed');
  await voidDecisions(tx, { dedupeKey: `attempts_exhausted:${task.id}` }, 'task completed');
  await voidDecisions(tx, { dedupeKey: `nothing_delivered:${task.id}` }, 'task completed');
  await settleJob(tx, task.job_id, moved.value.eventId);
  return ok({ task: moved.value.row, already: false });
}

async function completionRefusal(
  tx: Tx,
  task: TaskRow,
  by: Completion,
  actor: Actor,
): Promise<Extract<Result<never>, { ok: false }> | undefined> {
  if (by.kind === 'session') {
    if (task.repository_id !== null) {
      return refuse(
        'wrong-state',
        'needs_landing',
        `Task ${task.codename} has a repository: it is done when its change lands. Deliver the work instead.`,
        { task: task.id },
      );
    }
    const held = await checkClaim(tx, { taskId: task.id, fence: by.fence });
    return held.ok ? undefined : held;
  }
  if (by.kind === 'landing') return undefined;
  if (actor.kind !== 'operator' && actor.kind !== 'operator-cli') {
    return refuse('not-permitted', 'humans_only', 'Only a human completes a task by hand.', { task: task.id });
  }
  const reason = reasonRefusal(by.reason, 'complete');
  if (reason) return reason;
  if (task.repository_id !== null && !(by.proof && actor.kind === 'operator')) {
    return refuse(
      'proof-required',
      'proof_required',
      `Task ${task.codename} has a repository: to call it done without landing, prove that you are the operator.`,
      { task: task.id },
    );
  }
  return undefined;
}

/** A task that is not being worked on passes through doing, so that its blockers and its job are asked. */
async function asDoing(
  tx: Tx,
  { task, job, project }: LockedTask,
  completion: { by: Completion; actor: Actor; cause?: string },
): Promise<Result<TaskRow>> {
  if (task.status !== 'todo' && task.status !== 'paused') return ok(task);
  if (task.open_blockers > 0) {
    return refuse(
      'wrong-state',
      'task_blocked',
      `Task ${task.codename} waits for ${task.open_blockers} other tasks; finish, cancel or unlink them first.`,
      { task: task.id, open_blockers: task.open_blockers },
    );
  }
  if (task.held === 1) {
    return refuse(
      'wrong-state',
      'task_held',
      `Task ${task.codename} cannot be completed while its job is ${job.status} and its project ${project.status}.`,
      { task: task.id, job_status: job.status, project_status: project.status },
    );
  }
  const moved = await moveTask(tx, task, {
    to: 'doing',
    event: task.status === 'todo' ? 'task.claimed' : 'task.resumed',
    actor: completion.actor,
    ...(completion.cause ? { cause: completion.cause } : {}),
    facts: { by: completion.by.kind },
  });
  return moved.ok ? ok(moved.value.row) : moved;
}
