import { ok, refuse, type Result } from '../../kernel/index.ts';
import {
  type EscalationView as DomainEscalation,
  readStatus,
  type SessionView as DomainSession,
} from '../../sessions/index.ts';
import { readEstimates, readSpendingOfSessions } from '../../spending/index.ts';
import type { EscalationView, SessionView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { readFailure } from './read-failure.ts';
import { estimateView, spendingView } from '../spending/views.ts';

/** One session as a client sees it. */
export async function readSessionView(ctx: AppContext, id: string): Promise<Result<SessionView>> {
  const [view] = await readSessionViews(ctx, { sessionId: id, includeEnded: true });
  return view ? ok(view) : refuse('not-found', 'unknown_session', `There is no session ${id}.`, { id });
}

/** Sessions as a client sees them. */
export async function readSessionViews(
  ctx: AppContext,
  filter: Parameters<typeof readStatus>[1],
): Promise<SessionView[]> {
  const sessions = await readStatus(ctx.store.read, filter);
  const numbers = await pullRequestNumbers(ctx, sessions);
  const ids = sessions.map((session) => session.session_id);
  const spent = await readSpendingOfSessions(ctx.store.read, ids);
  const estimates = await readEstimates(ctx.store.read, ids);
  const failures = await Promise.all(sessions.map((session) => failureOf(ctx, session)));
  return sessions.map((session, at) => ({
    ...sessionView(ctx, session, numbers),
    failure: failures[at] ?? null,
    spending: spendingView(spent.get(session.session_id)),
    estimate: estimateView(estimates.get(session.session_id)),
  }));
}

export function escalationView(escalation: DomainEscalation): EscalationView {
  return {
    id: escalation.escalation_id,
    sessionId: escalation.session_id,
    workKey: escalation.work_key,
    text: escalation.text,
    status: escalation.status,
    decisionId: escalation.decision_id,
    createdAt: escalation.created_at,
    answeredAt: escalation.answered_at,
    answeredBy: escalation.answered_by,
    delivery: escalation.delivery === 'pending' || escalation.delivery === 'delivered' ? escalation.delivery : null,
    closeReason: escalation.closure_reason,
  };
}

function sessionView(
  ctx: AppContext,
  session: DomainSession,
  numbers: ReadonlyMap<string, number>,
): Omit<SessionView, 'spending' | 'estimate' | 'failure'> {
  return {
    id: session.session_id,
    generation: session.generation,
    workKey: session.work_key,
    project: session.project_code,
    role: session.role,
    agent: session.agent,
    state: session.state,
    outward: session.outward,
    flags: {
      waitingApproval: session.waiting_approval.value,
      unresponsive: session.unresponsive.value,
      stalled: session.stalled.value,
      takenOver: session.taken_over,
      limitedUntil: session.limited_until,
    },
    takeover: session.takeover,
    peerId: session.peer_id,
    lastSeenAt: session.last_seen_at,
    missedPolls: session.missed_polls,
    taskId: session.task_id,
    pullRequest: session.pull_request_id === null ? null : (numbers.get(session.pull_request_id) ?? null),
    openEscalations: session.open_escalations.map(escalationView),
    summary: session.summary,
    pid: session.process.value === 'ended' ? null : session.process.pid,
    sandbox: ctx.barrier.report.driver,
    sources: { state: 'asserted', lastSeenAt: session.unresponsive.basis },
    endReason: session.reason,
    createdAt: session.started_at,
    updatedAt: session.ended_at ?? session.last_seen_at ?? session.started_at,
    endedAt: session.ended_at,
  };
}

async function failureOf(ctx: AppContext, session: DomainSession): Promise<SessionView['failure']> {
  const { session_id: id, generation, state, reason } = session;
  return readFailure(ctx, { id, generation, state, reason, folder_key: session.folder_key });
}

async function pullRequestNumbers(ctx: AppContext, sessions: readonly DomainSession[]): Promise<Map<string, number>> {
  const ids = [...new Set(sessions.flatMap((session) => session.pull_request_id ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await ctx.store.read
    .selectFrom('pull_request')
    .select(['id', 'number'])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row.number]));
}
