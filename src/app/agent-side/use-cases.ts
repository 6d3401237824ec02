import { ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { claimTask, findTask, readyTasks, updateTask } from '../../ledger/index.ts';
import {
  askHuman,
  bindTaskClaim,
  checkMessages,
  findSession,
  listPeersFor,
  reportCheckpoint,
  reportStatus,
  sendMessage,
  setSummary,
  type TokenHolder,
  waitAnswer,
} from '../../sessions/index.ts';
import type { HeardView, QuestionView } from '../../wire/index.ts';
import type { AgentSideUseCases } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { taskView } from '../work/views.ts';
import { reportDone } from '../author/report-done.ts';
import { submitReview } from '../review/submit-review.ts';

/** What agents call through `chantier mcp`; the caller is always the session of the token (design section 7). */
export function agentSideUseCases(ctx: AppContext): AgentSideUseCases {
  const heard = async (caller: Caller, message: string): Promise<Result<HeardView>> => {
    const row = await findSession(ctx.store.read, caller.actor.id);
    return ok({ state: row?.state ?? 'unknown', message });
  };
  const withHolder = async <T>(caller: Caller, fn: (holder: TokenHolder) => Promise<Result<T>>): Promise<Result<T>> => {
    const holder = await holderOf(ctx, caller);
    return holder.ok ? fn(holder.value) : holder;
  };
  return {
    reportStatus: (caller, report) =>
      withHolder(caller, async (holder) => {
        const text = report.percent === undefined ? report.text : `${report.text} (${report.percent} %)`;
        const done = await reportStatus(ctx.sessions, holder, { text });
        return done.ok ? heard(caller, 'Heard.') : done;
      }),
    askHuman: (caller, text) =>
      withHolder(caller, async (holder) => {
        const asked = await askHuman(ctx.sessions, holder, { text, key: caller.idempotencyKey }, { budgetMs: 0 });
        return asked.ok ? readQuestion(ctx, asked.value.id) : asked;
      }),
    waitAnswer: (caller, id, waitMs) =>
      withHolder(caller, async (holder) => {
        const wanted = id === 'latest' ? await latestQuestion(ctx, holder) : id;
        if (wanted === undefined)
          return refuse('not-found', 'no_question', 'This session has asked nothing yet: call `ask_human` first.');
        const waited = await waitAnswer(
          ctx.sessions,
          holder,
          { id: wanted },
          { budgetMs: waitMs, ...(caller.signal ? { signal: caller.signal } : {}) },
        );
        return waited.ok ? readQuestion(ctx, waited.value.id) : waited;
      }),
    reportCheckpoint: (caller, checkpoint) =>
      withHolder(caller, async (holder) => {
        const { name, result, summary } = checkpoint;
        const done = await reportCheckpoint(ctx.sessions, holder, {
          name,
          passed: result !== 'failed',
          ...(summary === undefined ? {} : { text: summary }),
        });
        return done.ok ? heard(caller, 'Noted.') : done;
      }),
    reportDone: (caller, summary) => withHolder(caller, (holder) => reportDone(ctx, caller, holder, summary)),
    submitReview: (caller, review) => withHolder(caller, (holder) => submitReview(ctx, caller, holder, review)),
    listPeers: (caller) =>
      withHolder(caller, async (holder) => {
        const peers = await listPeersFor(ctx.sessions, holder);
        if (!peers.ok) return peers;
        return ok(
          peers.value.map((peer) => ({
            endpointId: peer.peer_id,
            workKey: peer.work_key,
            agent: peer.agent,
            summary: peer.summary,
            lastSeenAt: peer.last_seen_at === null ? null : toRfc3339(peer.last_seen_at),
            outside: peer.is_outside,
          })),
        );
      }),
    sendMessage: (caller, message) =>
      withHolder(caller, (holder) => sendMessage(ctx.sessions, holder, { ...message, key: caller.idempotencyKey })),
    checkMessages: (caller, ack) =>
      withHolder(caller, async (holder) => {
        const messages = await checkMessages(ctx.sessions, holder, { ack });
        if (!messages.ok) return messages;
        return ok(
          messages.value.map((message) => ({
            id: message.id,
            from: message.from,
            type: message.type,
            text: textOf(message.payload),
            at: toRfc3339(message.sent_at),
          })),
        );
      }),
    setSummary: (caller, text) =>
      withHolder(caller, async (holder) => {
        const done = await setSummary(ctx.sessions, holder, { summary: text });
        return done.ok ? heard(caller, 'Shown.') : done;
      }),
    taskReady: (caller, limit) =>
      withHolder(caller, async (holder) => {
        const own = await ownTask(ctx, holder);
        const rows = await readyTasks(ctx.store.read, { limit, ...(own ? { projectId: own.project_id } : {}) });
        return ok(await Promise.all(rows.map((row) => taskView(ctx, row, { inList: true }))));
      }),
    taskClaim: (caller, name) => withHolder(caller, (holder) => claimAsAgent(ctx, caller, holder, name)),
    taskUpdate: (caller, name, change) =>
      withHolder(caller, async (holder) => {
        const task = await findTask(ctx.store.read, name);
        if (!task.ok) return task;
        if (task.value.id !== holder.taskId)
          return refuse(
            'not-permitted',
            'not_your_task',
            `Task ${task.value.codename} is not the one this session holds.`,
          );
        const changed = await once(
          ctx.store,
          caller,
          'agent.task.update',
          { id: task.value.id, change },
          async (tx) => {
            if (change.tokenEstimate === undefined) return ok({ id: task.value.id });
            const result = await updateTask(tx, {
              taskId: task.value.id,
              version: task.value.version,
              changes: { tokens_estimated: change.tokenEstimate },
              actor: caller.actor,
            });
            return result.ok ? ok({ id: task.value.id }) : result;
          },
        );
        if (!changed.ok) return changed;
        if (change.note !== undefined) {
          const noted = await reportStatus(ctx.sessions, holder, { text: change.note });
          if (!noted.ok) return noted;
        }
        return ok(await taskView(ctx, changed.value));
      }),
  };
}

/** The living generation behind the caller's token; a stale one is refused (S-11, S-38). */
async function holderOf(ctx: AppContext, caller: Caller): Promise<Result<TokenHolder>> {
  if (caller.actor.kind !== 'session')
    return refuse('not-permitted', 'not_a_session', 'Only an agent’s session may do this.');
  const row = await findSession(ctx.store.read, caller.actor.id);
  if (!row || row.ended_at !== null || row.generation !== caller.actor.generation) {
    return refuse(
      'wrong-state',
      'session_ended',
      `Session ${caller.actor.id} has ended, or a newer generation has taken over.`,
    );
  }
  return ok({
    sessionId: row.id as TokenHolder['sessionId'],
    generation: row.generation,
    role: row.role,
    workKey: row.work_key,
    taskId: row.task_id,
  });
}

async function claimAsAgent(ctx: AppContext, caller: Caller, holder: TokenHolder, name: string) {
  if (holder.taskId !== null) {
    const own = await findTask(ctx.store.read, holder.taskId);
    if (!own.ok) return own;
    if (own.value.id !== name && own.value.codename !== name && holder.workKey !== name) {
      return refuse(
        'wrong-state',
        'has_a_task',
        `This session works on ${holder.workKey}; report it done before you claim another task.`,
      );
    }
    const row = await findSession(ctx.store.read, holder.sessionId);
    return ok({
      task: await taskView(ctx, own.value),
      brief: own.value.request ?? own.value.description,
      fence: row?.task_fence ?? 0,
    });
  }
  const claimed = await once(ctx.store, caller, 'agent.task.claim', { name }, async (tx) => {
    const task = await findTask(tx.db, name);
    if (!task.ok) return task;
    const claim = await claimTask(tx, {
      taskId: task.value.id,
      holder: holder.sessionId,
      actor: caller.actor,
      sessionId: holder.sessionId,
    });
    if (!claim.ok) return claim;
    await bindTaskClaim(tx, holder.sessionId, claim.value.fence);
    return ok({ id: task.value.id, brief: task.value.request ?? task.value.description, fence: claim.value.fence });
  });
  if (!claimed.ok) return claimed;
  const { id, brief, fence } = claimed.value;
  return ok({ task: await taskView(ctx, { id }), brief, fence });
}

async function ownTask(ctx: AppContext, holder: TokenHolder) {
  if (holder.taskId === null) return undefined;
  return ctx.store.read.selectFrom('task').select('project_id').where('id', '=', holder.taskId).executeTakeFirst();
}

async function latestQuestion(ctx: AppContext, holder: TokenHolder): Promise<string | undefined> {
  const row = await ctx.store.read
    .selectFrom('escalation')
    .select('id')
    .where('session_id', '=', holder.sessionId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

async function readQuestion(ctx: AppContext, id: string): Promise<Result<QuestionView>> {
  const row = await ctx.store.read.selectFrom('escalation').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return refuse('not-found', 'unknown_question', `There is no question ${id}.`, { id });
  return ok({ id: row.id, status: row.status, answer: row.answer ?? null, closeReason: row.closure_reason });
}

function textOf(payload: unknown): string {
  if (typeof payload === 'string') return payload;
  const text = (payload as { text?: unknown } | null)?.text;
  return typeof text === 'string' ? text : JSON.stringify(payload);
}
