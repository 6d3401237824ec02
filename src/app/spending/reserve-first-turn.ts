import { ok, type Refusal, type Result } from '../../kernel/index.ts';
import { findSession, toSession } from '../../sessions/index.ts';
import {
  askAboutBudget,
  estimateSession,
  estimateTurn,
  keepEstimate,
  reserveTurn,
  scopeOf,
} from '../../spending/index.ts';
import type { Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { spenderOf } from './spending-ports.ts';

/**
 * Reserves the first turn of a session in the transaction that records it, so that nothing starts without room (design
 * section 9), and keeps what the whole session is expected to use. Refused, nothing of the transaction stays.
 */
export async function reserveFirstTurn(
  tx: Tx,
  ctx: AppContext,
  sessionId: string,
  text: string,
): Promise<Result<undefined>> {
  const row = await findSession(tx.db, sessionId);
  if (!row) throw new Error(`session ${sessionId} was recorded and cannot be read`);
  const session = toSession(row);
  const { agent, role } = session;
  const turn = await estimateTurn(tx.db, ctx.spending, { agent, kind: `${role}:brief`, text });
  const need = { turnId: null, tokens: turn.tokens, micros: turn.micros };
  const reserved = await reserveTurn(tx, ctx.spending, await spenderOf(tx.db, session), need);
  if (!reserved.ok) return reserved;
  await keepEstimate(tx, { sessionId }, await estimateSession(tx.db, ctx.spending, { agent, role, text }));
  return ok();
}

/** Opens the decision about a budget that let nothing start; the refused transaction could not. */
export async function askIfUsedUp(
  ctx: AppContext,
  refusal: Refusal,
  of: { projectId: string | null; taskId: string | null },
): Promise<void> {
  if (refusal.code !== 'budget_exhausted') return;
  const { scope, subject, need_tokens: tokens, need_micros: micros } = refusal.facts ?? {};
  await ctx.store.tx((tx) =>
    askAboutBudget(tx, ctx.spending, scopeOf(`${String(scope)}:${String(subject)}`), {
      need: { turnId: null, tokens: Number(tokens ?? 0), micros: micros === null ? null : Number(micros ?? 0) },
      ...of,
    }),
  );
}
