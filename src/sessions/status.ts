import { toRfc3339 } from '../kernel/index.ts';
import { budgetReason } from './hold-turn.ts';
import { type OutwardNames, outwardNames } from './outward-names.ts';
import type { EscalationRow, SessionRow } from './session-store.ts';
import type { Db } from './session-store.ts';
import { activeStates, type SessionState } from './states.ts';
import { openTakeovers, type TakeoverRow } from './takeover/takeover-store.ts';

/** A fact with where it comes from: said by the protocol or by us (`asserted`), or concluded from silence (`inferred`). */
export interface Fact<T> {
  value: T;
  basis: 'asserted' | 'inferred';
}

/** One open question as every surface shows it. */
export interface EscalationView {
  escalation_id: string;
  session_id: string;
  work_key: string;
  text: string;
  form: unknown;
  status: EscalationRow['status'];
  decision_id: string | null;
  created_at: string;
  answered_at: string | null;
  answered_by: string | null;
  delivery: EscalationRow['delivery'];
  closure_reason: string | null;
}

/** One session as CLI, console, MCP and phone show it (decision 12). */
export interface SessionView {
  session_id: string;
  work_key: string;
  project_code: string;
  role: SessionRow['role'];
  agent: string;
  project_id: string | null;
  task_id: string | null;
  pull_request_id: string | null;
  state: SessionState;
  /** What it is called outside (README 2.13). */
  outward: OutwardNames;
  reason: string | null;
  generation: number;
  /** Work folder that it went on in; null = one of its own. */
  folder_key: string | null;
  peer_id: string;
  conversation_id: string | null;
  summary: string | null;
  mode: string | null;
  started_at: string;
  ended_at: string | null;
  last_seen_at: string | null;
  missed_polls: number;
  process: Fact<SessionRow['process']> & { pid: number | null };
  working: Fact<boolean>;
  waiting_approval: Fact<boolean>;
  unresponsive: Fact<boolean>;
  stalled: Fact<boolean>;
  limited_until: string | null;
  taken_over: boolean;
  /** Who has the wheel, since when. */
  takeover: { by: string; since: string } | null;
  done_held: boolean;
  /** What it waits for, in one word. */
  waiting_for: 'human' | 'approval' | 'operator' | 'provider' | 'budget' | 'agent' | 'start' | null;
  open_escalations: EscalationView[];
  queued_prompts: number;
  /** How full the agent's context is, as it last said. */
  context: { used: number | null; size: number | null };
}

/** Which sessions `readStatus` gives. Default: every active one. */
export interface StatusFilter {
  workKey?: string;
  sessionId?: string;
  taskId?: string;
  pullRequestId?: string;
  /** Ended ones too, newest first, at most `limit` (default 100). */
  includeEnded?: boolean;
  limit?: number;
}

/** The one status of sessions, for every surface (decision 12). Reads committed data; never asks a process. */
export async function readStatus(db: Db, filter: StatusFilter = {}): Promise<SessionView[]> {
  let query = db.selectFrom('session').selectAll();
  if (filter.workKey !== undefined) query = query.where('work_key', '=', filter.workKey);
  if (filter.sessionId !== undefined) query = query.where('id', '=', filter.sessionId);
  if (filter.taskId !== undefined) query = query.where('task_id', '=', filter.taskId);
  if (filter.pullRequestId !== undefined) query = query.where('pull_request_id', '=', filter.pullRequestId);
  if (filter.includeEnded !== true && filter.sessionId === undefined) query = query.where('state', 'in', activeStates);
  const rows = await query
    .orderBy('created_at', filter.includeEnded ? 'desc' : 'asc')
    .orderBy('id')
    .limit(filter.limit ?? 100)
    .execute();
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const open = await db
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', 'in', ids)
    .where('status', '=', 'OPEN')
    .orderBy('ord')
    .execute();
  const contexts = await db.selectFrom('session_context').selectAll().where('session_id', 'in', ids).execute();
  const queued = await db
    .selectFrom('prompt')
    .select(['session_id', (eb) => eb.fn.countAll().as('count')])
    .where('session_id', 'in', ids)
    .where('state', '=', 'queued')
    .groupBy('session_id')
    .execute();
  const takeovers = await openTakeovers(
    db,
    rows.filter((row) => row.taken_over === 1).map((row) => row.id),
  );
  return rows.map((row) =>
    sessionView(row, {
      takeover: takeovers.get(row.id),
      open: open.filter((each) => each.session_id === row.id),
      context: contexts.find((each) => each.session_id === row.id),
      queued: Number(queued.find((each) => each.session_id === row.id)?.count ?? 0),
    }),
  );
}

function sessionView(
  row: SessionRow,
  about: {
    open: EscalationRow[];
    context: { context_used: number | null; context_size: number | null } | undefined;
    queued: number;
    takeover: TakeoverRow | undefined;
  },
): SessionView {
  const silent = row.unresponsive === 1;
  return {
    session_id: row.id,
    work_key: row.work_key,
    project_code: row.project_code,
    role: row.role,
    agent: row.agent,
    project_id: row.project_id,
    task_id: row.task_id,
    pull_request_id: row.pull_request_id,
    state: row.state,
    outward: outwardNames(row),
    reason: row.reason,
    generation: row.generation,
    folder_key: row.folder_key,
    peer_id: row.endpoint_id,
    conversation_id: row.conversation_id,
    summary: row.summary,
    mode: row.mode,
    started_at: toRfc3339(row.created_at),
    ended_at: time(row.ended_at),
    last_seen_at: time(row.last_seen_at),
    missed_polls: row.missed_polls,
    // A live process is asserted by its pid and start time; while it does not answer we only conclude that it lives on.
    process: { value: row.process, basis: row.process === 'live' && silent ? 'inferred' : 'asserted', pid: row.pid },
    working: { value: row.turn_open === 1, basis: row.turn_open === 1 && silent ? 'inferred' : 'asserted' },
    waiting_approval: { value: row.waiting_approval === 1, basis: 'asserted' },
    unresponsive: { value: silent, basis: 'inferred' },
    stalled: { value: row.stalled === 1, basis: 'inferred' },
    limited_until: time(row.limited_until),
    taken_over: row.taken_over === 1,
    takeover: about.takeover ? { by: about.takeover.taken_by, since: toRfc3339(about.takeover.taken_at) } : null,
    done_held: row.done_held === 1,
    waiting_for: waitingFor(row),
    open_escalations: about.open.map(escalationView),
    queued_prompts: about.queued,
    context: { used: about.context?.context_used ?? null, size: about.context?.context_size ?? null },
  };
}

function waitingFor(row: SessionRow): SessionView['waiting_for'] {
  if (row.state === 'STARTING') return 'start';
  if (row.state === 'ESCALATED') return 'human';
  if (row.state === 'PAUSED' && row.taken_over === 1) return 'operator';
  if (row.state === 'PAUSED' && row.limited_until !== null) return 'provider';
  if (row.state === 'PAUSED') return row.reason === budgetReason ? 'budget' : 'operator';
  if (row.state !== 'RUNNING') return null;
  if (row.waiting_approval === 1) return 'approval';
  return row.turn_open === 1 ? 'agent' : null;
}

/** The questions of one work key, or of all; open ones only unless `includeClosed` (oldest first, at most `limit`, default 200). */
export async function listEscalations(
  db: Db,
  filter: { workKey?: string; sessionId?: string; includeClosed?: boolean; limit?: number } = {},
): Promise<EscalationView[]> {
  let query = db.selectFrom('escalation').selectAll();
  if (filter.workKey !== undefined) query = query.where('work_key', '=', filter.workKey);
  if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId);
  if (filter.includeClosed !== true) query = query.where('status', '=', 'OPEN');
  const rows = await query
    .orderBy('ord')
    .limit(filter.limit ?? 200)
    .execute();
  return rows.map(escalationView);
}

export function escalationView(row: EscalationRow): EscalationView {
  return {
    escalation_id: row.id,
    session_id: row.session_id,
    work_key: row.work_key,
    text: row.text,
    form: row.form === null ? null : (JSON.parse(row.form) as unknown),
    status: row.status,
    decision_id: row.decision_id,
    created_at: toRfc3339(row.created_at),
    answered_at: time(row.answered_at),
    answered_by: row.answered_by,
    delivery: row.delivery,
    closure_reason: row.closure_reason,
  };
}

function time(at: number | null): string | null {
  return at === null ? null : toRfc3339(at);
}
