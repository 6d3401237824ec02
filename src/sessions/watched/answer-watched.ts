import { type Actor, type Json, ok, refuse, type Result } from '../../kernel/index.ts';
import { refuseUnlessHuman, type Store, settleDecision, type Tx, voidDecisions } from '../../store/index.ts';
import { hookDialects, type WatchedAnswer } from './hook-dialects.ts';
import { findWatchedRequest, settleState, voidRequests, watchedTopic } from './watched-store.ts';

/** A human's answer to what a watched session waits for. */
export interface AnswerWatched {
  requestId: string;
  answer: WatchedAnswer;
  actor: Actor;
}

/**
 * Answers a request of a watched session; its hook fetches the answer. Refuses `human_only`, `unknown_request`, and
 * `decision_closed` when it was answered or withdrawn before.
 */
export async function answerWatched(tx: Tx, { requestId, answer, actor }: AnswerWatched): Promise<Result<undefined>> {
  const refused = refuseUnlessHuman({
    actor,
    act: 'answer_watched',
    subject: { kind: 'watched-request', id: requestId },
  });
  if (refused) return refused;
  const request = await findWatchedRequest(tx.db, requestId);
  if (!request || request.decision_id === null)
    return refuse('not-found', 'unknown_request', `There is no request ${requestId} of a watched session.`);
  const settled = await settleDecision(tx, request.decision_id, {
    outcome: answer.allow ? (request.kind === 'question' ? 'answered' : 'approved') : 'refused',
    actor,
  });
  if (!settled.ok) return settled;
  const session = await tx.db
    .selectFrom('watched_session')
    .selectAll()
    .where('id', '=', request.watched_session_id)
    .executeTakeFirstOrThrow();
  const input = request.input === null ? undefined : (JSON.parse(request.input) as Json);
  const output = hookDialects[session.agent].answer?.(input, answer);
  if (output === undefined) throw new Error(`hooks of ${session.agent} take no answer`);
  await tx.db
    .updateTable('watched_request')
    .set({ state: 'answered', output: JSON.stringify(output), ended_at: tx.now })
    .where('id', '=', requestId)
    .where('state', '=', 'open')
    .execute();
  await settleState(tx, session.id, 'working');
  await tx.emit({
    kind: 'watched.answered',
    actor,
    subject: { kind: 'watched-session', id: session.id },
    facts: { request_id: requestId, allowed: answer.allow },
  });
  tx.wake(watchedTopic, requestId);
  return ok();
}

/** What the hook is to print; `open` when nobody has answered yet. */
export type WatchedOutcome = { state: 'open' | 'void' } | { state: 'answered'; output: Json };

/** Waits up to `waitMs` for the end of a request, and notes that its hook still asks. Refuses `unknown_request`. */
export async function waitWatched(
  store: Store,
  requestId: string,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Result<WatchedOutcome>> {
  const ended = Promise.withResolvers<void>();
  const off = store.onWake(watchedTopic, (subject) => subject === requestId && ended.resolve());
  const timer = setTimeout(ended.resolve, waitMs);
  signal?.addEventListener('abort', () => ended.resolve(), { once: true });
  try {
    await store.tx((tx) =>
      tx.db
        .updateTable('watched_request')
        .set({ polled_at: tx.now })
        .where('id', '=', requestId)
        .where('state', '=', 'open')
        .execute(),
    );
    const before = await outcomeOf(store, requestId);
    if (before?.state !== 'open') return before ? ok(before) : unknown(requestId);
    await ended.promise;
    const after = await outcomeOf(store, requestId);
    return after ? ok(after) : unknown(requestId);
  } finally {
    off();
    clearTimeout(timer);
  }
}

async function outcomeOf(store: Store, requestId: string): Promise<WatchedOutcome | undefined> {
  const request = await findWatchedRequest(store.read, requestId);
  if (!request) return undefined;
  return request.state === 'answered'
    ? { state: 'answered', output: JSON.parse(request.output ?? 'null') as Json }
    : { state: request.state };
}

function unknown(requestId: string): Result<never> {
  return refuse('not-found', 'unknown_request', `There is no request ${requestId} of a watched session.`);
}

/**
 * The hook waits no longer. Where its agent keeps its own dialog back meanwhile, that dialog comes now, and the request stays
 * as one that only its terminal can answer; else it was answered there. Nothing when it has ended.
 */
export async function withdrawWatched(tx: Tx, requestId: string): Promise<void> {
  const request = await findWatchedRequest(tx.db, requestId);
  if (request?.state !== 'open' || request.kind === 'notice') return;
  const session = await tx.db
    .selectFrom('watched_session')
    .selectAll()
    .where('id', '=', request.watched_session_id)
    .executeTakeFirstOrThrow();
  if (hookDialects[session.agent].holdMs === null) {
    await voidRequests(tx, { sessionId: session.id, requestId }, 'hook_gone');
    await settleState(tx, session.id, 'idle');
    return;
  }
  await voidDecisions(tx, { subjectId: requestId }, 'hook_gone');
  await tx.db
    .updateTable('watched_request')
    .set({ kind: 'notice', decision_id: null })
    .where('id', '=', requestId)
    .where('state', '=', 'open')
    .execute();
  tx.wake(watchedTopic, requestId);
}
