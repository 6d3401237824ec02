import type { Tx } from '../../store/index.ts';
import { accountOfSession, freeAccount } from '../account-limits.ts';
import type { DriverEvent, EventBatch, QuestionView, TurnOutcome } from '../drivers/index.ts';
import { markAnswerDelivered, openEscalation, withdrawEscalation } from '../escalations.ts';
import { emitOf } from '../events.ts';
import { textBounds } from '../fields.ts';
import type { ProcessRecord } from '../host/index.ts';
import { pauseForBudget } from '../hold-turn.ts';
import { markLive } from '../mark-live.ts';
import { markPermissionDelivered, recordPermission, settleFromProtocol } from '../permissions.ts';
import type { SessionContext, UsageEvent } from '../ports.ts';
import { settlePrompt } from '../prompts.ts';
import { mayStartAfresh, startAfresh } from '../relaunch.ts';
import { toSession } from '../session.ts';
import { findSession, lockSession, newEndpointId, type PromptRow, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import { sessionsTopic } from '../transition.ts';
import { failSession, supervisorActor } from './crash.ts';
import { applyLimit, closeUntilLoggedIn } from './limits.ts';

/** Events that change nothing in the store: the journal is the transcript's source (decision 2). */
const chatter: ReadonlySet<DriverEvent['kind']> = new Set(['message', 'tool-call', 'plan', 'noise', 'request-refused']);

/** Whether nothing in the batch is worth a transaction of its own. */
export function isChatter(batch: EventBatch): boolean {
  return batch.events.every((event) => chatter.has(event.kind));
}

/**
 * Applies what a generation's agent said, together with how far its journal is consumed, in one transaction (design 7). An
 * older generation's words change nothing, those after the end of the session only the offset (S-11) and the bill.
 */
export async function applyBatch(
  ctx: SessionContext,
  at: { sessionId: string; generation: number },
  batch: EventBatch,
  process: ProcessRecord | undefined,
): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, at.sessionId);
    if (!session || session.generation !== at.generation) return;
    await tx.db
      .updateTable('session')
      .set({
        journal_offset: Math.max(session.journal_offset, batch.consumedTo),
        last_seen_at: tx.now,
        ...(batch.events.length > 0 ? { last_event_at: tx.now } : {}),
        ...(process && session.pid === null ? processFacts(process) : {}),
      })
      .where('id', '=', session.id)
      .execute();
    for (const event of batch.events) {
      const now = await findSession(tx.db, session.id);
      if (!now) return;
      // Its turn was ended by a human: what it still asks asks nobody any more.
      if (now.taken_over === 1 && (event.kind === 'question-asked' || event.kind === 'permission-asked')) continue;
      // What a session used before its end is often said only after it: the bill is not part of its state.
      if (!isTerminal(now.state) || isBill(event)) await applyEvent(tx, ctx, now, event);
    }
  });
}

function processFacts(record: ProcessRecord): Pick<SessionRow, 'pid' | 'pid_started' | 'boot_id'> {
  return { pid: record.agent.pid, pid_started: String(record.agent.startTime), boot_id: record.bootId };
}

async function applyEvent(tx: Tx, ctx: SessionContext, session: SessionRow, event: DriverEvent): Promise<void> {
  switch (event.kind) {
    case 'peer-seen':
      return seePeer(tx, session);
    case 'opened':
      await setColumns(tx, session, {
        mode: event.mode,
        ...(event.conversationId === null ? {} : { conversation_id: event.conversationId }),
      });
      await markLive(tx, session, 'opened');
      return wake(tx, session);
    case 'start-failed':
      if (event.code === 'cannot_resume' && mayStartAfresh(session)) return startAfresh(tx, session);
      if (event.code === 'auth_required') await closeUntilLoggedIn(tx, session, event.message);
      await failSession(tx, ctx, session.id, session.generation, event.code);
      return;
    case 'state':
      return event.state === 'idle' ? closeTurn(tx, session) : openTurn(tx, session);
    case 'permission-asked': {
      const { requestId, call, choices } = event.permission;
      return recordPermission(tx, session, { rpcId: requestId, call, choices });
    }
    case 'question-asked':
      return askFromProtocol(tx, session, event.question);
    case 'request-settled':
      return settleRequest(tx, ctx, session, event.requestId, event.by);
    case 'conversation':
      return setColumns(tx, session, { conversation_id: event.conversationId });
    case 'usage':
    case 'tokens':
      return storeUsage(tx, ctx, session, event);
    case 'plan-window':
      return ctx.ports.onPlanWindow(tx, toSession(session), event);
    case 'limit':
      return applyLimit(tx, ctx, session, event);
    case 'prompt-verdict':
      return judgePrompt(tx, ctx, session, event.promptId, event.verdict);
    case 'turn-ended':
      return endTurn(tx, ctx, session, event.promptId, event.outcome);
    case 'mode-changed':
      await setColumns(tx, session, { mode: event.mode });
      if (event.isSafe) return;
      await emitOf(tx, session, 'session.alert', supervisorActor, { alert: 'unsafe_mode' });
      await failSession(tx, ctx, session.id, session.generation, 'unsafe_mode');
      return;
    default:
      return;
  }
}

/** The sentinel is replaced by the real address, which stays the same for the session's life (S-28). */
async function seePeer(tx: Tx, session: SessionRow): Promise<void> {
  if (session.peer_seen_at !== null) return;
  const endpoint = session.endpoint_id.startsWith('pending-') ? newEndpointId() : session.endpoint_id;
  await setColumns(tx, session, { peer_seen_at: tx.now, endpoint_id: endpoint });
  await emitOf(tx, session, 'session.peer-seen', supervisorActor, {
    peer_id: endpoint,
    elapsed_ms: tx.now - (session.launched_at ?? session.created_at),
  });
}

async function openTurn(tx: Tx, session: SessionRow): Promise<void> {
  if (session.turn_open === 1) return;
  await setColumns(tx, session, { turn_open: 1, turn_opened_at: tx.now });
  await emitOf(tx, session, 'session.turn-started', supervisorActor);
}

async function closeTurn(tx: Tx, session: SessionRow): Promise<void> {
  await setColumns(tx, session, { turn_open: 0 });
  wake(tx, session);
}

async function endTurn(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  promptId: string,
  outcome: TurnOutcome,
): Promise<void> {
  const stopReason = 'stopReason' in outcome ? outcome.stopReason : 'error';
  const prompt = await findPrompt(tx, session, promptId);
  if (prompt) {
    await tx.db.updateTable('prompt').set({ stop_reason: stopReason }).where('id', '=', prompt.id).execute();
    if (prompt.state === 'sending') await judgePrompt(tx, ctx, session, promptId, 'delivered');
  }
  await setColumns(tx, session, { turn_open: 0 });
  // The provider took a whole turn: its account is open again, unless it was limited meanwhile.
  if (stopReason !== 'error' && stopReason !== 'cancelled') await freeAccount(tx, accountOfSession(session));
  const context = await tx.db
    .selectFrom('session_context')
    .select('context_used')
    .where('session_id', '=', session.id)
    .executeTakeFirst();
  const used = await ctx.ports.usedSoFar(tx, toSession(session));
  await emitOf(tx, session, 'session.turn-ended', supervisorActor, {
    stop_reason: stopReason,
    prompt_id: promptId,
    context_used: context?.context_used ?? null,
    cost_micros: used?.costMicros ?? null,
    input_tokens: used?.input ?? null,
    output_tokens: used?.output ?? null,
    ...('error' in outcome ? { error_code: outcome.error.code } : {}),
  });
  await ctx.ports.onTurnEnded(tx, toSession(session), stopReason, promptId);
  wake(tx, session);
}

/** A question of the agent's own protocol. Reviewers and QA never ask: theirs is declined by the pump. */
async function askFromProtocol(tx: Tx, session: SessionRow, question: QuestionView): Promise<void> {
  if (session.role === 'author')
    await openEscalation(tx, session, {
      source: 'elicitation',
      text: cleanText(question.text),
      form: question.schema,
      rpcId: question.requestId,
    });
  wake(tx, session);
}

/** Agents' protocols do not know our bounds: what a text may not hold is shown escaped, what is too long is cut. */
function cleanText(text: string): string {
  const clean = text
    .toWellFormed()
    .normalize('NFC')
    .replace(
      /[^\P{C}\n\t\u200c\u200d]|[\u202a-\u202e\u2066-\u2069]/gu,
      (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
    )
    .trim();
  const characters = [...(clean || '(no text)')];
  return characters.length > textBounds.escalation
    ? `${characters.slice(0, textBounds.escalation - 1).join('')}…`
    : characters.join('');
}

/** A request found its end in the journal: by our answer, or because the agent or its turn took it back. */
async function settleRequest(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  requestId: string,
  by: Extract<DriverEvent, { kind: 'request-settled' }>['by'],
): Promise<void> {
  const permission = await tx.db
    .selectFrom('permission_request')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('generation', '=', session.generation)
    .where('rpc_id', '=', requestId)
    .executeTakeFirst();
  if (permission) {
    if (by === 'answer' || by === 'cancel') await markPermissionDelivered(tx, session, permission.id);
    await settleFromProtocol(tx, ctx, session, permission, by);
    return;
  }
  const question = await tx.db
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('generation', '=', session.generation)
    .where('rpc_id', '=', requestId)
    .executeTakeFirst();
  // A question whose process is gone is closed with its session, or answered to its next generation.
  if (!question || by === 'end') return;
  if (question.status === 'OPEN') await withdrawEscalation(tx, ctx, session, question.id, 'withdrawn');
  else await markAnswerDelivered(tx, ctx, question.id);
}

async function judgePrompt(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  promptId: string,
  verdict: 'delivered' | 'unconfirmed' | 'not_delivered',
): Promise<void> {
  const prompt = await findPrompt(tx, session, promptId);
  if (!prompt || prompt.state === verdict) return;
  const settled = await settlePrompt(tx, session, prompt, verdict);
  if (settled && verdict === 'delivered' && prompt.kind === 'answer')
    await markAnswerDelivered(tx, ctx, prompt.source_key.slice('answer:'.length));
}

async function findPrompt(tx: Tx, session: SessionRow, id: string): Promise<PromptRow | undefined> {
  return tx.db
    .selectFrom('prompt')
    .selectAll()
    .where('id', '=', id)
    .where('session_id', '=', session.id)
    .executeTakeFirst();
}

/** Books what was used (decision 7), and keeps how full the context is, as last said. */
async function storeUsage(tx: Tx, ctx: SessionContext, session: SessionRow, event: UsageEvent): Promise<void> {
  const { isUsedUp } = await ctx.ports.onUsage(tx, toSession(session), event);
  if (event.kind === 'usage') {
    const values = {
      context_used: contextSize(event.usedTokens),
      context_size: contextSize(event.contextTokens),
      updated_at: tx.now,
    };
    await tx.db
      .insertInto('session_context')
      .values({ session_id: session.id, ...values })
      .onConflict((conflict) => conflict.column('session_id').doUpdateSet(values))
      .execute();
  }
  if (isUsedUp) await pauseForBudget(tx, ctx, session);
}

/** An agent's number as a size that can be stored; anything else is not known. */
function contextSize(tokens: number): number | null {
  return tokens >= 0 && tokens <= 1e10 ? Math.ceil(tokens) : null;
}

function isBill(event: DriverEvent): boolean {
  return event.kind === 'usage' || event.kind === 'tokens' || event.kind === 'plan-window';
}

async function setColumns(
  tx: Tx,
  session: SessionRow,
  values: Partial<Omit<SessionRow, 'state' | 'id'>>,
): Promise<void> {
  await tx.db
    .updateTable('session')
    .set({ ...values, updated_at: tx.now })
    .where('id', '=', session.id)
    .execute();
}

function wake(tx: Tx, session: SessionRow): void {
  tx.wake(sessionsTopic, session.id);
}
