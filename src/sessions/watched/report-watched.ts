import { basename } from 'node:path';

import { canonicalJson, type Json, newId, ok, refuse, type Result, sha256 } from '../../kernel/index.ts';
import { openDecision, type Tx } from '../../store/index.ts';
import {
  hookDialects,
  type HookReport,
  isQuestion,
  questionText,
  readHook,
  type WatchedAgent,
} from './hook-dialects.ts';
import {
  endWatched,
  findWatchedRequest,
  settleState,
  voidRequests,
  watchActor,
  type WatchedSession,
} from './watched-store.ts';

/** What a hook sends. */
export interface WatchedHook {
  agent: WatchedAgent;
  /** What the agent gave to its hook, whole. */
  input: Json;
  /** Made by the hook; sent again with it, nothing happens twice. */
  requestId: string;
  /** The agent's process, where the hook could tell. */
  process?: { pid: number; startTime: number; bootId: string };
}

/** What the hook does next: wait for the answer to `requestId`, at most `holdMs` (`null`: without end), or nothing. */
export type HookOrder = { wait: false } | { wait: true; requestId: string; holdMs: number | null };

/** How a decision about a request is shown; made by the caller, who knows how calls are shown. */
export type ShowRequest = (call: { tool: string; input: Json | undefined; folder: string }) => {
  summary: string;
  detail: Json;
};

/** More is not kept of one request; the decision can then only be a no. */
const maxInputLength = 256 * 1024;
/** More open requests of one session are not put before a human; its own terminal still asks. */
const maxOpenRequests = 20;

/**
 * Takes the report of a hook: the session appears, moves on, asks, or ends. What it asks becomes a decision, settled by
 * `answerWatched`; what was answered at its own terminal is withdrawn. Refuses `unknown_hook`. Source: design section 7.
 */
export async function reportWatched(
  tx: Tx,
  nodeId: string,
  hook: WatchedHook,
  show: ShowRequest,
): Promise<Result<HookOrder>> {
  const report = readHook(hook.agent, hook.input);
  if (!report.ok) return report;
  const { event } = report.value;
  const session = await appear(tx, nodeId, hook, report.value);
  if (event === 'ended') {
    await endWatched(tx, session.id);
    return ok({ wait: false });
  }
  if (event === 'asks' || event === 'notice') return ask(tx, session, hook, report.value, show);
  if (event === 'tool-ended') {
    await voidRequests(tx, { sessionId: session.id, digest: digestOfCall(report.value) }, 'answered_there');
    if (hook.agent === 'gemini') await voidRequests(tx, { sessionId: session.id }, 'answered_there');
  } else {
    await voidRequests(tx, { sessionId: session.id }, 'answered_there');
  }
  // The end of a tool may be told after the end of its turn: hooks that nobody waits for come in any order.
  const isIdle = event === 'started' || event === 'idle' || (event === 'tool-ended' && session.state === 'idle');
  await settleState(tx, session.id, isIdle ? 'idle' : 'working');
  return ok({ wait: false });
}

/** The session of this report: new, known, or one that goes on after it had ended (a resume has the same id). */
async function appear(tx: Tx, nodeId: string, hook: WatchedHook, report: HookReport): Promise<WatchedSession> {
  const where = { cwd: report.cwd, node_id: nodeId, seen_at: tx.now };
  const process = hook.process
    ? { pid: hook.process.pid, pid_started: hook.process.startTime, boot_id: hook.process.bootId }
    : {};
  const known = await tx.db
    .selectFrom('watched_session')
    .selectAll()
    .where('agent', '=', hook.agent)
    .where('native_id', '=', report.nativeId)
    .executeTakeFirst();
  if (known && known.ended_at === null) {
    await tx.db
      .updateTable('watched_session')
      .set({ ...where, ...process })
      .where('id', '=', known.id)
      .execute();
    return known;
  }
  const fresh = { ...where, ...process, state: 'idle' as const, started_at: tx.now, ended_at: null };
  const session = await tx.db
    .insertInto('watched_session')
    .values({
      id: known?.id ?? newId(),
      agent: hook.agent,
      native_id: report.nativeId,
      pid: null,
      pid_started: null,
      boot_id: null,
      ...fresh,
    })
    .onConflict((conflict) => conflict.columns(['agent', 'native_id']).doUpdateSet(fresh))
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.emit({
    kind: 'watched.appeared',
    actor: watchActor,
    subject: { kind: 'watched-session', id: session.id },
    facts: { agent: hook.agent },
  });
  return session;
}

async function ask(
  tx: Tx,
  session: WatchedSession,
  hook: WatchedHook,
  report: HookReport,
  show: ShowRequest,
): Promise<Result<HookOrder>> {
  const { holdMs, answer } = hookDialects[hook.agent];
  const isAnswerable = report.event === 'asks' && answer !== undefined;
  const known = await findWatchedRequest(tx.db, hook.requestId);
  if (known && known.watched_session_id !== session.id)
    return refuse('duplicate', 'request_taken', `The request ${hook.requestId} is another session's.`);
  if (!known && !(await openRequest(tx, session, hook, report, show, isAnswerable))) return ok({ wait: false });
  return ok(isAnswerable ? { wait: true, requestId: hook.requestId, holdMs } : { wait: false });
}

/** Records the request and its decision; false when too many are open or it is too long to be shown. */
async function openRequest(
  tx: Tx,
  session: WatchedSession,
  hook: WatchedHook,
  report: HookReport,
  show: ShowRequest,
  isAnswerable: boolean,
): Promise<boolean> {
  const tool = report.tool ?? '';
  const input = report.input === undefined ? null : JSON.stringify(report.input);
  const open = await tx.db
    .selectFrom('watched_request')
    .select('id')
    .where('watched_session_id', '=', session.id)
    .where('state', '=', 'open')
    .limit(maxOpenRequests)
    .execute();
  if (open.length >= maxOpenRequests || (input?.length ?? 0) > maxInputLength) return false;
  const kind = !isAnswerable ? 'notice' : isQuestion(tool) ? 'question' : 'permission';
  const decisionId = isAnswerable ? await decide(tx, session, hook, report, show) : null;
  await tx.db
    .insertInto('watched_request')
    .values({
      id: hook.requestId,
      watched_session_id: session.id,
      kind,
      tool,
      input,
      digest: digestOfCall(report),
      decision_id: decisionId,
      state: 'open',
      reason: null,
      output: null,
      created_at: tx.now,
      polled_at: tx.now,
      ended_at: null,
    })
    .execute();
  await settleState(tx, session.id, 'working');
  await tx.emit({
    kind: 'watched.asked',
    actor: watchActor,
    subject: { kind: 'watched-session', id: session.id },
    facts: { request_id: hook.requestId, request_kind: kind, decision_id: decisionId },
  });
  return true;
}

function decide(
  tx: Tx,
  session: WatchedSession,
  hook: WatchedHook,
  report: HookReport,
  show: ShowRequest,
): Promise<string> {
  const { tool = 'a tool', input } = report;
  const where = `${session.agent} in ${basename(report.cwd) || '/'} (started by hand)`;
  const subject = { kind: 'watched-request', id: hook.requestId };
  const shown = show({ tool, input, folder: report.cwd });
  return isQuestion(tool)
    ? openDecision(tx, {
        kind: 'escalation_answer',
        subject,
        title: `${where} asks: ${questionText(input).split('\n')[0] ?? ''}`,
        detail: { text: questionText(input), agent: session.agent, folder: report.cwd },
      })
    : openDecision(tx, { kind: 'call_approval', subject, title: `${where}: ${shown.summary}`, detail: shown.detail });
}

/** What a request and the end of its tool have in common. A question's tool ends with its answers in its input, so its name must do. */
function digestOfCall({ tool = '', input }: HookReport): string {
  return sha256(isQuestion(tool) || input === undefined ? tool : `${tool}\n${canonicalOf(input)}`);
}

function canonicalOf(value: Json): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value).toWellFormed();
  }
}
