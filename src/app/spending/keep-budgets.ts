import { systemActor } from '../../kernel/index.ts';
import { budgetReason, goOn, lockSession, mayUseAccount, pauseForBudget, toSession } from '../../sessions/index.ts';
import {
  budgetsTopic,
  dayOf,
  judge,
  readBudget,
  releaseStale,
  scopesOf,
  withdrawSettled,
} from '../../spending/index.ts';
import { lookAgainIn, type PassOutcome, type Reconciler, startReconciler, type Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { settingsTopic } from '../instance/change-setting.ts';
import { lookAtBudgets, spenderOf } from './spending-ports.ts';

const actor = systemActor('budgets');
/** How often budgets are looked at without being woken (ms): a new day, a lowered cap, what dead processes held. */
const everyMs = 5_000;

/** The loop that keeps budgets true when nobody spends (design section 5). */
export function startBudgets(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'budgets',
    list: async () => ['instance'],
    pass: () => keepBudgets(ctx),
    everyMs,
    wakeAllOn: [budgetsTopic, settingsTopic],
    onError: (error) => ctx.log.error({ err: error }, 'budgets'),
  });
}

/** One pass: gives back what nobody runs, withdraws questions that settled themselves, pauses and lets go on. */
export async function keepBudgets(ctx: AppContext): Promise<PassOutcome> {
  const today = () => dayOf(ctx.store.clock.now(), ctx.spending.settings().timeZone);
  await ctx.store.tx((tx) => releaseStale(tx));
  await ctx.store.tx((tx) => withdrawSettled(tx, ctx.spending, today()));
  const sessions = await ctx.store.read
    .selectFrom('session')
    .select(['id', 'state', 'reason'])
    .where('ended_at', 'is', null)
    .where('state', 'in', ['RUNNING', 'PAUSED'])
    .execute();
  for (const { id, state, reason } of sessions) {
    if (state === 'RUNNING') await ctx.store.tx((tx) => pauseIfUsedUp(tx, ctx, id));
    else if (reason === budgetReason) await ctx.store.tx((tx) => goOnIfRoom(tx, ctx, id));
  }
  return lookAgainIn(everyMs);
}

async function pauseIfUsedUp(tx: Tx, ctx: AppContext, id: string): Promise<void> {
  const session = await lockSession(tx, id);
  // Without an open turn nothing is spent; the next one is judged before it begins.
  if (session?.state !== 'RUNNING' || session.turn_open !== 1) return;
  if (await lookAtBudgets(tx, ctx, await spenderOf(tx.db, toSession(session))))
    await pauseForBudget(tx, ctx.sessions, session);
}

/**
 * Lets a session that its budgets paused go on when none of them is asked about any more and none is used up. What its
 * next turn is expected to use is judged when that turn begins.
 */
export async function goOnIfRoom(tx: Tx, ctx: AppContext, id: string): Promise<void> {
  const session = await lockSession(tx, id);
  if (session?.state !== 'PAUSED' || session.reason !== budgetReason) return;
  // A human at its wheel says when it goes on.
  if (session.taken_over === 1) return;
  const spender = await spenderOf(tx.db, toSession(session));
  for (const scope of scopesOf(ctx.spending, spender, tx.now)) {
    const state = await readBudget(tx.db, ctx.spending, scope, tx.now, id);
    const asked = await tx.db
      .selectFrom('decision_request')
      .select('id')
      .where('dedupe_key', '=', `budget:${state.id}`)
      .where('state', '=', 'open')
      .executeTakeFirst();
    if (asked || (state.passes === 0 && judge(state, { tokens: 0, micros: 0 }) === 'exhausted')) return;
  }
  // Its provider may have closed meanwhile: then it waits for that, and goes on by itself.
  if (!(await mayUseAccount(tx, session))) return;
  const key = `budget:${session.updated_at}`;
  await goOn(tx, ctx.sessions, session, { actor, reason: 'budget_room', key });
}
