import { type Actor, refuse, type Refusal, type Result, ok } from '../../kernel/index.ts';
import type { Store, Tx } from '../../store/index.ts';
import { lockSession, type SessionRow, type TokenHolder } from '../session-store.ts';
import { isTerminal } from '../states.ts';

export function actorOf(holder: Pick<TokenHolder, 'sessionId' | 'generation'>): Actor {
  return { kind: 'session', id: holder.sessionId, generation: holder.generation };
}

/** The session behind a token, locked; refused when it has ended or another generation has taken over (S-11, S-38). */
export async function lockHolder(tx: Tx, holder: TokenHolder): Promise<Result<SessionRow>> {
  const session = await lockSession(tx, holder.sessionId);
  if (!session) return refuse('not-found', 'unknown_session', `unknown session ${holder.sessionId}`);
  if (isTerminal(session.state))
    return refuse('wrong-state', 'session_ended', `This session has ended (${session.state}); stop working.`, {
      state: session.state,
    });
  if (session.taken_over === 1)
    return refuse('wrong-state', 'generation_replaced', 'A human has taken this session over; stop working.', {
      generation: session.generation,
    });
  if (session.generation !== holder.generation)
    return refuse('wrong-state', 'generation_replaced', 'Another process has taken over this session; stop working.', {
      generation: session.generation,
    });
  return ok(session);
}

/** Only authors may ask and message (README 2.3): reviewers and QA never do. */
export function mayTalk(holder: TokenHolder, what: string): Result<undefined> {
  if (holder.role === 'author') return ok();
  return refuse(
    'not-permitted',
    'role_may_not',
    `A ${holder.role} session may not ${what}; decide with what you were given.`,
    {
      role: holder.role,
    },
  );
}

/** Runs an agent's message as one transaction; what is refused changes nothing but the log (ERR-03, S-57). */
export async function asAgent<T>(
  store: Store,
  holder: TokenHolder,
  messageType: string,
  fn: (tx: Tx) => Promise<Result<T>>,
): Promise<Result<T>> {
  const result = await store.tx(fn);
  if (!result.ok) await recordMessageRejection(store, holder, messageType, result.refusal);
  return result;
}

async function recordMessageRejection(
  store: Store,
  holder: TokenHolder,
  messageType: string,
  refusal: Refusal,
): Promise<void> {
  await store.tx((tx) =>
    tx.emit({
      kind: 'message.rejected',
      actor: actorOf(holder),
      subject: { kind: 'session', id: holder.sessionId },
      sessionId: holder.sessionId,
      facts: { peer_id: holder.sessionId, message_type: messageType, reason: refusal.code, story_id: holder.workKey },
    }),
  );
}
