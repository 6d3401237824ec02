import type { Session, SessionPorts } from '../../sessions/index.ts';
import {
  askAboutBudget,
  bookUsage,
  estimateTurn,
  findUsedUp,
  readSpending,
  reserveTurn,
  scopeOf,
  settleTurn,
  type Spender,
  storePlanWindow,
} from '../../spending/index.ts';
import type { Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import type { Db } from '../dispatch/db.ts';

type BudgetPorts = Pick<SessionPorts, 'reserveTurn' | 'onUsage' | 'usedSoFar' | 'onPlanWindow' | 'isUsedUp'>;

/** What the sessions' domain needs of spending (its `ports.ts`; sessions decision 7). */
export function budgetPorts(ctx: () => AppContext): BudgetPorts {
  return {
    async reserveTurn(tx, session, prompt) {
      const { spending } = ctx();
      const spender = await spenderOf(tx.db, session);
      const estimate = await estimateTurn(tx.db, spending, {
        agent: session.agent,
        kind: `${session.role}:${prompt.kind}`,
        text: prompt.text,
      });
      const need = { turnId: prompt.id, tokens: estimate.tokens, micros: estimate.micros };
      const reserved = await reserveTurn(tx, spending, spender, need, { force: session.state === 'ESCALATED' });
      if (reserved.ok) return 'go';
      if (reserved.refusal.code === 'budget_reserved') return 'wait';
      await ask(tx, ctx(), spender, reserved.refusal.facts, need);
      // What the dispatcher held for it is for others meanwhile.
      await settleTurn(tx, spending, spender, { id: prompt.id, kind: prompt.kind, isRun: false });
      return 'pause';
    },
    async onUsage(tx, session, usage) {
      const { spending } = ctx();
      const spender = await spenderOf(tx.db, session);
      const reading =
        usage.kind === 'tokens'
          ? { tokens: usage }
          : {
              ...(usage.cost ? { cost: usage.cost } : {}),
              ...(usage.isOnPlan ? { isOnPlan: true } : {}),
            };
      await bookUsage(tx, spending, spender, await turnOf(tx.db, session), reading);
      return { isUsedUp: await lookAtBudgets(tx, ctx(), spender) };
    },
    async usedSoFar(tx, session) {
      const { input, output, micros: costMicros, sources } = await readSpending(tx.db, { sessionId: session.id });
      return sources.length === 0 ? null : { input, output, costMicros };
    },
    async onPlanWindow(tx, session, { name, share, resetsAtMs }) {
      await storePlanWindow(tx, {
        agent: session.agent,
        name,
        share,
        ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
      });
    },
    isUsedUp: async (tx, session) => lookAtBudgets(tx, ctx(), await spenderOf(tx.db, session)),
  };
}

/** Warns, and asks a human about the first budget that is used up; whether there is one. */
export async function lookAtBudgets(tx: Tx, ctx: AppContext, spender: Spender): Promise<boolean> {
  const usedUp = await findUsedUp(tx, ctx.spending, spender);
  if (!usedUp) return false;
  await ask(tx, ctx, spender, { scope: usedUp.scope, subject: usedUp.subject });
  return true;
}

async function ask(
  tx: Tx,
  ctx: AppContext,
  spender: Spender,
  facts: Record<string, unknown> | undefined,
  need?: { turnId: string | null; tokens: number; micros: number | null },
): Promise<void> {
  const { sessionId, projectId, taskId } = spender;
  const scope = scopeOf(`${String(facts?.scope)}:${String(facts?.subject)}`);
  await askAboutBudget(tx, ctx.spending, scope, { ...(need ? { need } : {}), sessionId, projectId, taskId });
}

/** A session as spending sees it; a reviewer's work is billed to the task whose change it reviews. */
export async function spenderOf(
  db: Db,
  session: Pick<
    Session,
    | 'id'
    | 'generation'
    | 'agent'
    | 'role'
    | 'projectId'
    | 'taskId'
    | 'pullRequestId'
    | 'conversationId'
    | 'resumeConversationId'
  >,
): Promise<Spender> {
  const change =
    session.pullRequestId === null
      ? undefined
      : await db
          .selectFrom('pull_request')
          .select(['project_id', 'task_id'])
          .where('id', '=', session.pullRequestId)
          .executeTakeFirst();
  return {
    sessionId: session.id,
    generation: session.generation,
    agent: session.agent,
    role: session.role,
    projectId: session.projectId ?? change?.project_id ?? null,
    taskId: session.taskId ?? change?.task_id ?? null,
    pullRequestId: session.pullRequestId,
    conversationId: session.conversationId,
    resumesConversation: session.resumeConversationId,
  };
}

/** The turn that usage belongs to: the prompt that this process was sent last. */
async function turnOf(db: Db, session: Session): Promise<{ id: string; kind: string }> {
  const prompt = await db
    .selectFrom('prompt')
    .select(['id', 'kind'])
    .where('session_id', '=', session.id)
    .where('generation', '=', session.generation)
    .where('sent_at', 'is not', null)
    .orderBy('sent_at', 'desc')
    .orderBy('ord', 'desc')
    .limit(1)
    .executeTakeFirst();
  return prompt ?? { id: 'none', kind: 'none' };
}

/** Ends the reservation of a turn that has ended; a turn that failed before it used anything is not guessed at. */
export async function settleTurnOf(
  tx: Tx,
  ctx: AppContext,
  session: Session,
  turn: { promptId: string; isRun: boolean },
): Promise<void> {
  const prompt = await tx.db.selectFrom('prompt').select('kind').where('id', '=', turn.promptId).executeTakeFirst();
  await settleTurn(tx, ctx.spending, await spenderOf(tx.db, session), {
    id: turn.promptId,
    kind: prompt?.kind ?? 'none',
    isRun: turn.isRun,
  });
}

/**
 * When every process of an ended session is gone: what its last turn held is given back, or booked as a guess where the
 * agent worked on it and was ended before it could say what that took.
 */
export async function endSpending(tx: Tx, ctx: AppContext, session: Session): Promise<void> {
  const held = await tx.db
    .selectFrom('budget_reservation')
    .leftJoin('prompt', 'prompt.id', 'budget_reservation.turn_id')
    .leftJoin('agent', 'agent.codename', 'budget_reservation.agent')
    .select(['prompt.id', 'prompt.kind', 'prompt.state', 'agent.driver'])
    .where('budget_reservation.session_id', '=', session.id)
    .executeTakeFirst();
  if (!held) return;
  // A program without a protocol never says that it read its prompt.
  const isRun = held.state === 'delivered' || (held.driver === 'command' && held.state === 'unconfirmed');
  const turn = { id: held.id ?? 'none', kind: held.kind ?? 'none', isRun };
  await settleTurn(tx, ctx.spending, await spenderOf(tx.db, session), turn);
}
