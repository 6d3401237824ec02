import { Fault, ok, refuse, type Result } from '../../kernel/index.ts';
import { findTask, claimTask } from '../../ledger/index.ts';
import {
  bindTaskClaim,
  brokerDown,
  executeCommand,
  findSession,
  type CommandResult,
  listEscalations,
  startSession,
  type Supervisor,
  recordRejection,
} from '../../sessions/index.ts';
import type { Db } from '../dispatch/db.ts';
import type { SessionView } from '../../wire/index.ts';
import type { SessionUseCases } from '../app.ts';
import { requireProof } from '../access/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { chooseAuthor } from '../dispatch/choose-author.ts';
import { whyNothingStarts } from '../dispatch/dispatch-tasks.ts';
import { whereToGoOn } from '../dispatch/where-to-go-on.ts';
import { useAccount } from '../dispatch/use-account.ts';
import { createKeyboards } from './keyboards.ts';
import { readFolder } from './read-folder.ts';
import { readTerminalPage } from './read-terminal.ts';
import { readTranscriptPage } from './read-transcript.ts';
import { createSearch } from './search-transcripts.ts';
import { openTerminal, takeOverSession } from '../wheel/take-over-session.ts';
import { handBackSession } from '../wheel/hand-back-session.ts';
import { answerInOrder } from './answer-in-order.ts';
import { rowOf } from './find-row.ts';
import { tellAuthor } from './tell-author.ts';
import type { StopEverything } from './stop-everything.ts';
import { reserveFirstTurn } from '../spending/reserve-first-turn.ts';
import { escalationView, readSessionView, readSessionViews } from './views.ts';
import { readInstanceStatus } from '../instance/status.ts';

/** The seven commands and the verbs beside them, over the sessions' domain (S-14, S-16, design section 7). */
export function sessionUseCases(
  ctx: AppContext,
  stopEverything: StopEverything,
  supervisor: () => Supervisor,
): SessionUseCases {
  const db = ctx.store.read;
  const keyboards = createKeyboards(ctx, supervisor);
  const command = async (
    caller: Caller,
    name: string,
    session: string,
    args: { text?: string; reason?: string | undefined },
  ): Promise<Result<CommandResult & { notice: string | null }>> => {
    const workKey = await workKeyOf(db, session);
    const answer = await executeCommand(ctx.sessions, ctx.broker, caller, name, {
      workKey,
      key: caller.idempotencyKey,
      ...(args.text === undefined ? {} : { text: args.text }),
      ...(args.reason === undefined ? {} : { reason: args.reason }),
    });
    if (!answer.ok) return answer;
    if (answer.value.kind !== 'done') throw new Error(`command ${name} gave ${answer.value.kind}`);
    return ok({ ...answer.value.result.value, notice: answer.value.notice });
  };
  const commandView = async (
    caller: Caller,
    name: string,
    session: string,
    args: { reason?: string | undefined } = {},
  ): Promise<Result<SessionView>> => {
    const result = await command(caller, name, session, args);
    if (!result.ok) return result;
    const view = await readSessionView(ctx, result.value.session_id);
    return view.ok && result.value.notice !== null ? ok({ ...view.value, notice: result.value.notice }) : view;
  };
  return {
    ...inOutages({
      start: (caller, request) => startByHand(ctx, caller, request),
      async status(caller, session) {
        const workKey = session === undefined ? undefined : await workKeyOf(db, session);
        // A page that follows the event stream asks again after each event: an audit entry for that would be one more event.
        if (!isWatching(caller)) {
          const answer = await executeCommand(
            ctx.sessions,
            ctx.broker,
            caller,
            'status',
            workKey === undefined ? {} : { workKey },
          );
          if (!answer.ok) return answer;
        }
        return ok(await readInstanceStatus(ctx, workKey));
      },
      async escalations(_caller, session) {
        const workKey = session === undefined ? undefined : await workKeyOf(db, session);
        const open = await listEscalations(db, workKey === undefined ? {} : { workKey });
        return ok(open.map(escalationView));
      },
      async respond(caller, session, text) {
        const proof = requireProof(caller, 'decide');
        if (!proof.ok) return proof;
        const answered = await command(caller, 'respond', session, { text });
        if (!answered.ok) return answered;
        const all = await listEscalations(db, { sessionId: answered.value.session_id, includeClosed: true });
        const found = all.find((escalation) => escalation.escalation_id === answered.value.escalation_id);
        if (!found) throw new Error(`question ${answered.value.escalation_id} was answered and cannot be read`);
        const { notice } = answered.value;
        return ok({ ...escalationView(found), ...(notice === null ? {} : { notice }) });
      },
      pause: (caller, session, reason) => commandView(caller, 'pause', session, { reason }),
      resume: (caller, session) => commandView(caller, 'resume', session),
      stop: (caller, session, reason) => commandView(caller, 'stop', session, { reason }),
    }),
    async list(_caller, query) {
      const views = await readSessionViews(ctx, { includeEnded: query.living !== true, limit: 500 });
      const wanted = views.filter((view) => query.state === undefined || view.state === query.state);
      const from = query.cursor === undefined ? 0 : wanted.findIndex((view) => view.id === query.cursor) + 1;
      const items = wanted.slice(from, from + query.limit);
      return ok({ items, nextCursor: from + query.limit < wanted.length ? (items.at(-1)?.id ?? null) : null });
    },
    async show(_caller, session) {
      const row = await rowOf(db, session);
      return row.ok ? readSessionView(ctx, row.value.id) : row;
    },
    tell: (caller, session, message) => tellAuthor(ctx, caller, session, message),
    async respondInOrder(caller, session, batch) {
      const proof = requireProof(caller, 'decide');
      return proof.ok ? answerInOrder(ctx, caller, session, batch) : proof;
    },
    takeOver: (caller, session, request) => takeOverSession(ctx, caller, session, request),
    openTerminal: (_caller, session, request) => openTerminal(ctx, session, request),
    handBack: (caller, session, request) => handBackSession(ctx, caller, session, request),
    stopAll: (caller, reason) => stopEverything(caller, reason),
    async goOn(caller) {
      await ctx.store.tx((tx) => ctx.halt.set(tx, false, caller.actor));
      return ok({ halted: false });
    },
    async transcript(caller, session, query) {
      const row = await rowOf(db, session);
      return row.ok ? readTranscriptPage(ctx, caller, row.value, query) : row;
    },
    search: createSearch(ctx),
    async terminal(caller, session, query) {
      const row = await rowOf(db, session);
      return row.ok ? readTerminalPage(ctx, caller, row.value, query) : row;
    },
    async takeKeyboard(caller, session, size) {
      const row = await rowOf(db, session);
      return row.ok ? keyboards.take(caller, row.value, size) : row;
    },
    async typeKeys(caller, session, keys) {
      const row = await rowOf(db, session);
      return row.ok ? keyboards.type(caller, row.value, keys) : row;
    },
    async folder(_caller, session) {
      const row = await rowOf(db, session);
      return row.ok ? readFolder(ctx, row.value) : row;
    },
  };
}

type Seven = Pick<SessionUseCases, 'start' | 'status' | 'escalations' | 'respond' | 'pause' | 'resume' | 'stop'>;

/**
 * The seven say an outage of the broker in its own words: it lies in the store, so a store that does not answer is the broker
 * that is down (ERR-06, S-54). Whether a commit whose answer was lost holds is another question and stays a fault.
 */
function inOutages(seven: Seven): Seven {
  const guarded =
    <A extends unknown[], T>(useCase: (...args: A) => Promise<Result<T>>) =>
    async (...args: A): Promise<Result<T>> => {
      try {
        return await useCase(...args);
      } catch (error) {
        if (error instanceof Fault && error.code === 'database_unreachable') return brokerDown(error);
        throw error;
      }
    };
  return {
    start: guarded(seven.start),
    status: guarded(seven.status),
    escalations: guarded(seven.escalations),
    respond: guarded(seven.respond),
    pause: guarded(seven.pause),
    resume: guarded(seven.resume),
    stop: guarded(seven.stop),
  };
}

/** `start` by a human: claims the task behind the work key and creates its session, guards in the contractual order (S-17). */
async function startByHand(
  ctx: AppContext,
  caller: Caller,
  request: { workKey: string; project: string; agent?: string | undefined },
): Promise<Result<SessionView>> {
  const allowed = await whyNothingStarts(ctx);
  if (!allowed.ok) {
    await recordRejection(ctx.sessions, caller, 'start', request.workKey, allowed.refusal);
    return allowed;
  }
  const started = await ctx.store.tx(async (tx) => {
    const going = await ctx.halt.guard(tx);
    if (!going.ok) return going;
    const task = await findTask(tx.db, request.workKey);
    const agent =
      request.agent ??
      (await chooseAuthor(tx.db, { assignee_id: task.ok ? task.value.assignee_id : null }, tx.now))?.codename ??
      'default';
    const session = await startSession(tx, ctx.sessions, caller, {
      workKey: request.workKey,
      projectCode: request.project,
      key: caller.idempotencyKey,
      agent,
      role: 'author',
      ...(task.ok
        ? { projectId: task.value.project_id, taskId: task.value.id, ...(await whereToGoOn(tx, task.value.id, agent)) }
        : {}),
    });
    if (!session.ok || session.value.replayed) return session;
    if (!task.ok)
      return refuse(
        'not-found',
        'unknown_task',
        `There is no task ${request.workKey}: a session works on one. \`chantier task list\` names them.`,
      );
    const usable = await useAccount(tx, agent, session.value.value.session_id);
    if (!usable.ok) return usable;
    const claim = await claimTask(tx, {
      taskId: task.value.id,
      holder: ctx.nodeId,
      actor: caller.actor,
      sessionId: session.value.value.session_id,
    });
    if (!claim.ok) return claim;
    await bindTaskClaim(tx, session.value.value.session_id, claim.value.fence);
    const { request: asked, title, description } = task.value;
    const room = await reserveFirstTurn(tx, ctx, session.value.value.session_id, asked ?? `${title}\n${description}`);
    return room.ok ? session : room;
  });
  if (!started.ok) {
    await recordRejection(ctx.sessions, caller, 'start', request.workKey, started.refusal);
    return started;
  }
  return readSessionView(ctx, started.value.value.session_id);
}

/** Commands go by work key; an id is translated, anything else is judged by the command itself. */
async function workKeyOf(db: Db, session: string): Promise<string> {
  return (await findSession(db, session))?.work_key ?? session;
}

/** Whether the caller is a page that is open in a browser, not a command that somebody gave. */
function isWatching({ actor }: Caller): boolean {
  return actor.kind === 'viewer' || (actor.kind === 'operator' && actor.channel === 'console');
}
