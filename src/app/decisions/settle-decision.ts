import { ok, refuse, type Result } from '../../kernel/index.ts';
import { repositoryById, trustRepository } from '../../forge/index.ts';
import { approveCall, approveCallForGood, approveCapability, refuseCall, refuseCapability } from '../../gate/index.ts';
import { cancelJob, cancelProject, cancelTask, completeTask, resumeTask, settleProposal } from '../../ledger/index.ts';
import { answerPermission, reopenAccount, respond } from '../../sessions/index.ts';
import {
  type DecisionKind,
  type DecisionRequestRow,
  enqueueEffect,
  reviveEffect,
  settleDecision,
  type Tx,
} from '../../store/index.ts';
import type { VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { phaseOf } from '../instance/phase-of.ts';
import { settleWatched } from '../watched/settle-watched.ts';
import { retryChannel } from '../notify/record-sending.ts';
import { settleBudgetDecision } from '../spending/settle-budget-decision.ts';
import { endWorkOf } from '../work/end-work.ts';

/** The effect that lets a held call go on after a human's yes. */
export const releaseCallEffect = 'gate.release-held';

/** What came of a verdict, in one sentence. */
export type Settled = { message: string };

/** How one kind of decision is settled, in the transaction of its subject (README 2.1). */
type Settle = (
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
) => Promise<Result<Settled>>;

/** Everything but landings and human reviews, whose outside effects have a saga of their own. */
export const settlers: Partial<Record<DecisionKind, Settle>> = {
  escalation_answer: orWatched(answerQuestion),
  call_approval: orWatched(decideCall),
  capability_approval: decideCapability,
  repository_trust: trust,
  nothing_delivered: settleNothingDelivered,
  attempts_exhausted: settleExhausted,
  decomposition_stopped: acknowledge('Noted: add jobs by hand, or let the project rest.'),
  base_conflict: acknowledge('The base is looked at again with the next run or landing.'),
  dead_letter: settleDeadLetter,
  proposal: settleProposed,
  provider_limit: settleProviderLimit,
  budget: settleBudgetDecision,
};

/** The same questions of a session that was started by hand go back to its hook. */
function orWatched(settle: Settle): Settle {
  return (tx, ctx, caller, decision, verdict) =>
    decision.subject_kind === 'watched-request'
      ? settleWatched(tx, caller, decision, verdict)
      : settle(tx, ctx, caller, decision, verdict);
}

/** Answers exactly this question; another one that is older must be answered first (S-32). */
async function answerQuestion(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const question = await tx.db
    .selectFrom('escalation')
    .innerJoin('session', 'session.id', 'escalation.session_id')
    .select('session.work_key')
    .where('escalation.id', '=', decision.subject_id)
    .executeTakeFirst();
  if (!question) return refuse('not-found', 'unknown_question', `There is no question ${decision.subject_id}.`);
  const answered = await respond(tx, ctx.sessions, caller, {
    workKey: question.work_key,
    text: verdict.text,
    key: caller.idempotencyKey,
    escalationId: decision.subject_id,
  });
  return answered.ok ? ok({ message: `The answer is on its way to ${question.work_key}.` }) : answered;
}

/** One waiting call: once, or its capability for good. The agent that holds gets the answer; a parked one is told. */
async function decideCall(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const request = { callId: decision.subject_id, actor: caller.actor, phase: phaseOf(ctx) };
  const isYes = verdict.verdict === 'approve';
  const decide = async () => {
    if (!isYes) return refuseCall(tx, request);
    if (verdict.scope !== 'standing') return approveCall(tx, request);
    return approveCallForGood(tx, {
      ...request,
      hasFreshProof: caller.proof === 'fresh',
      ...(verdict.note === undefined ? {} : { note: verdict.note }),
    });
  };
  const decided = await decide();
  if (!decided.ok) return decided;
  const held = await tx.db
    .selectFrom('permission_request')
    .select('id')
    .where('decision_id', '=', decision.id)
    .where('state', '=', 'held')
    .executeTakeFirst();
  if (!held) return ok({ message: isYes ? 'Approved; the agent may repeat the call within 15 minutes.' : 'Refused.' });
  if (isYes) {
    // What will run is looked at again before the yes is spent (decision 4), and that reads the disk: after the commit.
    const payload = { callId: decision.subject_id, permissionId: held.id, actor: caller.actor };
    await enqueueEffect(tx, { key: `release:${decision.subject_id}:${held.id}`, kind: releaseCallEffect, payload });
    return ok({ message: 'Approved; the agent goes on.' });
  }
  const reason = verdict.note ?? 'a human refused this call';
  const answered = await answerPermission(tx, { permissionId: held.id }, { allow: false, actor: caller.actor, reason });
  return answered.ok ? ok({ message: 'Refused; the agent was told.' }) : answered;
}

async function decideCapability(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const request = {
    capabilityId: decision.subject_id,
    actor: caller.actor,
    phase: phaseOf(ctx),
    hasFreshProof: caller.proof === 'fresh',
    ...(verdict.note === undefined ? {} : { note: verdict.note }),
  };
  const decided =
    verdict.verdict === 'approve' ? await approveCapability(tx, request) : await refuseCapability(tx, request);
  return decided.ok
    ? ok({ message: `Capability ${decision.subject_id} is ${decided.value.capability.status}.` })
    : decided;
}

async function trust(
  tx: Tx,
  _ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const repository = await repositoryById(tx.db, decision.subject_id);
  if (!repository) return refuse('not-found', 'repository_not_found', `There is no repository ${decision.subject_id}.`);
  if (verdict.verdict === 'approve') {
    const { digest } = JSON.parse(decision.detail) as { digest: string };
    const trusted = await trustRepository(tx, { id: repository.id, digest, actor: caller.actor });
    if (!trusted.ok) return trusted;
    tx.wake('tasks');
  }
  const settled = await close(tx, caller, decision, verdict);
  if (!settled.ok) return settled;
  return ok({
    message:
      verdict.verdict === 'approve'
        ? `The commands of ${repository.name} are trusted.`
        : `The commands of ${repository.name} stay untrusted; nothing of it runs.`,
  });
}

/** Of a task: yes, nothing had to change, it is done; no, it is tried again. Of a job or project: yes, it is cancelled; no, it stays open. */
async function settleNothingDelivered(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const settled = await close(tx, caller, decision, verdict);
  if (!settled.ok) return settled;
  return decision.subject_kind === 'task'
    ? endTask(tx, caller, decision.subject_id, verdict)
    : endAbove(tx, ctx, caller, decision, verdict.verdict === 'approve');
}

async function endTask(tx: Tx, caller: Caller, taskId: string, verdict: VerdictRequest): Promise<Result<Settled>> {
  const resumed = await resumeTask(tx, { taskId, actor: caller.actor });
  if (!resumed.ok) return resumed;
  if (verdict.verdict === 'refuse') return ok({ message: 'The task is tried again.' });
  const by = {
    kind: 'human' as const,
    reason: verdict.note ?? 'nothing had to change',
    proof: caller.proof !== 'none',
  };
  const completed = await completeTask(tx, { taskId, by, actor: caller.actor });
  return completed.ok ? ok({ message: 'Taken as done.' }) : completed;
}

async function endAbove(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  isYes: boolean,
): Promise<Result<Settled>> {
  if (!isYes) return ok({ message: 'It stays open: add what is missing.' });
  const of = decision.subject_kind === 'job' ? { jobId: decision.subject_id } : { projectId: decision.subject_id };
  const ended = await endWorkOf(tx, ctx, of, caller.actor);
  if (!ended.ok) return ended;
  const cancelled =
    decision.subject_kind === 'job'
      ? await cancelJob(tx, { jobId: decision.subject_id, actor: caller.actor })
      : await cancelProject(tx, { projectId: decision.subject_id, actor: caller.actor });
  return cancelled.ok ? ok({ message: 'Cancelled.' }) : cancelled;
}

/** Yes: the task is tried again. No: it is cancelled. */
async function settleExhausted(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const settled = await close(tx, caller, decision, verdict);
  if (!settled.ok) return settled;
  const wish = {
    taskId: decision.subject_id,
    actor: caller.actor,
    ...(verdict.note === undefined ? {} : { reason: verdict.note }),
  };
  const moved = verdict.verdict === 'approve' ? await resumeTask(tx, wish) : await cancelWhole(tx, ctx, wish);
  if (!moved.ok) return moved;
  return ok({ message: verdict.verdict === 'approve' ? 'The task is tried again.' : 'The task is cancelled.' });
}

/** Cancels a task with its sessions and its pull request. */
async function cancelWhole(tx: Tx, ctx: AppContext, wish: Parameters<typeof cancelTask>[1]): Promise<Result<unknown>> {
  const ended = await endWorkOf(tx, ctx, { taskId: wish.taskId }, wish.actor);
  return ended.ok ? cancelTask(tx, wish) : ended;
}

/** Yes: the effect is tried again. No: it is dropped for good. */
async function settleDeadLetter(
  tx: Tx,
  _ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  if (verdict.verdict === 'approve') {
    if (decision.subject_kind === 'channel') await retryChannel(tx, decision.subject_id);
    else await reviveEffect(tx, decision.subject_id);
  } else if (decision.subject_kind === 'channel') {
    const left = await close(tx, caller, decision, verdict);
    return left.ok ? ok({ message: 'Left as it is: it goes on being tried every quarter of an hour.' }) : left;
  }
  const settled = await close(tx, caller, decision, verdict);
  return settled.ok
    ? ok({ message: verdict.verdict === 'approve' ? 'It is tried again.' : 'It is dropped.' })
    : settled;
}

async function settleProposed(
  tx: Tx,
  _ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const accept = verdict.verdict === 'approve';
  const settled = await settleProposal(tx, {
    proposalId: decision.subject_id,
    accept,
    actor: caller.actor,
    ...(verdict.note === undefined ? {} : { reason: verdict.note }),
  });
  return settled.ok ? ok({ message: accept ? 'Accepted.' : 'Rejected.' }) : settled;
}

/** Yes: the account is tried again, by one of its sessions first. No: they stay paused until they are resumed or stopped. */
async function settleProviderLimit(
  tx: Tx,
  _ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<Settled>> {
  const settled = await close(tx, caller, decision, verdict);
  if (!settled.ok) return settled;
  if (verdict.verdict !== 'approve')
    return ok({ message: `${decision.subject_id} stays closed; \`chantier resume\` of a session tries it again.` });
  await reopenAccount(tx, decision.subject_id);
  return ok({ message: `${decision.subject_id} is tried again, by one session first.` });
}

function acknowledge(message: string): Settle {
  return async (tx, _ctx, caller, decision, verdict) => {
    const settled = await close(tx, caller, decision, verdict);
    return settled.ok ? ok({ message }) : settled;
  };
}

/** The guarded write that lets one verdict through; it comes before what the verdict does (G-22). */
async function close(
  tx: Tx,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<DecisionRequestRow>> {
  return settleDecision(tx, decision.id, {
    outcome: verdict.verdict === 'approve' ? 'approved' : 'refused',
    ...(verdict.note === undefined ? {} : { detail: { note: verdict.note } }),
    actor: caller.actor,
  });
}
