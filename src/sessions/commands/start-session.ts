import { newId, refuse, type Refused, type Result, type SessionId } from '../../kernel/index.ts';
import { type Keyed, lookUpKey, type Tx } from '../../store/index.ts';
import { emitOf } from '../events.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import { type CommandResult, commandResult } from '../session.ts';
import { countActive, findActiveByWorkKey, type SessionRole, type SessionRow } from '../session-store.ts';
import { sessionsTopic } from '../transition.ts';
import { acceptCommand, type Caller, emitReplay, keyedRequest } from './guards.ts';

/** What `start` is given: work key, project code and key by the caller, the rest by the dispatcher (design section 9). */
export interface StartRequest {
  workKey: unknown;
  projectCode: unknown;
  key: unknown;
  /** Default author. */
  role?: SessionRole;
  /** Codename of a registered agent. */
  agent: string;
  projectId?: string;
  taskId?: string;
  /** Number of the task's lease. */
  taskFence?: number;
  pullRequestId?: string;
  /** Conversation of an earlier session that this one goes on with. */
  resumeConversationId?: string;
  /** Work folder of an earlier session to go on in; left out: a new one. */
  folderKey?: string;
}

/**
 * `start`: guards in order quota → idempotency → format → no active session of that work key (S-17), then the session in
 * STARTING with its key and audit entry in this transaction; the process is launched after the commit (S-23).
 */
export async function startSession(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: StartRequest,
): Promise<Result<Keyed<CommandResult>>> {
  const role = request.role ?? 'author';
  const keyed = keyedRequest(ctx, caller, 'start', request.key, {
    work_key: request.workKey,
    project_code: request.projectCode,
  });
  const overQuota = await quotaRefusal(tx, ctx, role);
  const known = await lookUpKey<CommandResult>(tx, keyed);
  if (overQuota) return known.kind === 'replay' ? withReplay(overQuota, known.value) : overQuota;
  if (known.kind === 'refused') return known.refused;
  if (known.kind === 'replay') {
    await emitReplay(tx, caller, keyed, known.value);
    return { ok: true, value: { value: known.value, replayed: true } };
  }
  const workKey = fields.workKey(request.workKey, ctx.settings().workKeys);
  if (!workKey.ok) return workKey;
  const isKnown = typeof request.projectCode === 'string' && (await ctx.ports.knowsProject(tx, request.projectCode));
  const projectCode = fields.projectCode(request.projectCode, () => isKnown);
  if (!projectCode.ok) return projectCode;
  const active = await findActiveByWorkKey(tx.db, workKey.value);
  if (active) {
    return refuse(
      'duplicate',
      'already_active',
      `Rejected: ${active.work_key} already active (state: ${active.state})`,
      { work_key: active.work_key, session_id: active.id, state: active.state },
    );
  }
  const session = await insertSession(tx, ctx, request, role, workKey.value, projectCode.value);
  const result = commandResult(session, tx.now);
  await emitOf(tx, session, 'session.started', caller.actor, {
    role,
    agent: session.agent,
    project_code: session.project_code,
    task_id: session.task_id,
    pull_request_id: session.pull_request_id,
    resumes: session.resume_conversation_id !== null,
  });
  await acceptCommand(tx, caller, keyed, session, result);
  tx.wake(sessionsTopic, session.id);
  return { ok: true, value: { value: result, replayed: false } };
}

/** Guard 1 (S-19). Counts under a lock, so that two starts cannot both take the last slot. */
async function quotaRefusal(tx: Tx, ctx: SessionContext, role: SessionRole): Promise<Refused | undefined> {
  const quota = role === 'author' ? 'author' : 'reviewer';
  await tx.lock('session_quota', quota);
  const settings = ctx.settings();
  const max = quota === 'author' ? settings.maxActive : settings.maxReviewers;
  const active = await countActive(tx.db, quota, settings.quotaCounts === 'working');
  if (active < max) return undefined;
  return refuse('quota', 'quota_exceeded', `Rejected: quota reached (${active}/${max} active sessions)`, {
    active,
    max,
    quota,
  });
}

/** Guard order is kept, and the caller whose answer was lost still learns of its session (S-24). */
function withReplay(refused: Refused, first: CommandResult): Refused {
  const { refusal } = refused;
  return { ok: false, refusal: { ...refusal, facts: { ...refusal.facts, replay_of: first.session_id } } };
}

async function insertSession(
  tx: Tx,
  ctx: SessionContext,
  request: StartRequest,
  role: SessionRole,
  workKey: string,
  projectCode: string,
): Promise<SessionRow> {
  return tx.db
    .insertInto('session')
    .values({
      id: newId<SessionId>(),
      work_key: workKey,
      project_code: projectCode,
      role,
      agent: request.agent,
      project_id: request.projectId ?? null,
      task_id: request.taskId ?? null,
      pull_request_id: request.pullRequestId ?? null,
      task_fence: request.taskFence ?? null,
      state: 'STARTING',
      generation: 1,
      process: 'wanted',
      endpoint_id: `pending-${workKey}`,
      node_id: ctx.nodeId,
      conversation_id: null,
      resume_conversation_id: request.resumeConversationId ?? null,
      folder_key: request.folderKey ?? null,
      journal_offset: 0,
      pid: null,
      pid_started: null,
      boot_id: null,
      token_hash: null,
      mode: null,
      waiting_approval: 0,
      unresponsive: 0,
      stalled: 0,
      taken_over: 0,
      limited_until: null,
      account: null,
      done_held: 0,
      turn_open: 0,
      turn_cut: 0,
      stall_told: 0,
      missed_polls: 0,
      summary: null,
      created_at: tx.now,
      updated_at: tx.now,
      launched_at: null,
      peer_seen_at: null,
      live_at: null,
      last_seen_at: null,
      last_event_at: null,
      turn_opened_at: null,
      unresponsive_since: null,
      stalled_since: null,
      stopping_at: null,
      ended_at: null,
      wound_up_at: null,
      reason: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}
