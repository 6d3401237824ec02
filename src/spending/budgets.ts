import { type Actor, ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import { openDecision, type Tx, voidDecisions } from '../store/index.ts';
import { type BudgetScope, budgetId, type BudgetState, judge, lockBudget, readBudget, scopesOf } from './caps.ts';
import { factsOf, type TurnNeed } from './reservations.ts';
import type { Cap, Spender, SpendingContext } from './spender.ts';

const actor = systemActor('budgets');

/** Share of a cap at which it is warned, once for each cap (README section 4). */
export const warnShare = 0.8;

/** Woken when a budget has more room than before. */
export const budgetsTopic = 'budgets';

/**
 * Looks at every budget of a session after something was booked: warns at 80 %, and gives the first one that is used up.
 * A turn that a human let pass is not held by what it passes.
 */
export async function findUsedUp(tx: Tx, ctx: SpendingContext, spender: Spender): Promise<BudgetState | undefined> {
  const own = await tx.db
    .selectFrom('budget_reservation')
    .select(['tokens', 'cost_micros', 'is_pass'])
    .where('session_id', '=', spender.sessionId)
    .executeTakeFirst();
  let usedUp: BudgetState | undefined;
  for (const scope of scopesOf(ctx, spender, tx.now)) {
    const state = await readBudget(tx.db, ctx, scope, tx.now, spender.sessionId);
    await warn(tx, state, spender);
    if (own?.is_pass !== 1 && judge(state, { tokens: 0, micros: 0 }) === 'exhausted') usedUp ??= state;
  }
  return usedUp;
}

async function warn(tx: Tx, state: BudgetState, spender: Spender): Promise<void> {
  const near = (cap: number | null, spent: number, warned: number | null): boolean =>
    cap !== null && spent >= cap * warnShare && warned !== cap;
  const isNear =
    near(state.cap.tokens, state.spent.tokens, state.warned.tokens) ||
    near(state.cap.micros, state.spent.micros, state.warned.micros);
  if (!isNear) return;
  await lockBudget(tx, state);
  const first = await tx.db
    .updateTable('budget')
    .set({ warned_tokens: state.cap.tokens, warned_micros: state.cap.micros, updated_at: tx.now })
    .where('id', '=', state.id)
    .where((eb) =>
      eb.or([
        eb('warned_tokens', 'is distinct from', state.cap.tokens),
        eb('warned_micros', 'is distinct from', state.cap.micros),
      ]),
    )
    .returning('id')
    .executeTakeFirst();
  if (!first) return;
  await tx.emit({
    kind: 'budget.warned',
    actor,
    subject: { kind: 'budget', id: state.id },
    sessionId: spender.sessionId,
    ...(spender.projectId ? { projectId: spender.projectId } : {}),
    facts: factsOf(state),
  });
}

/** Asks a human about a budget without room: raise it, let one turn pass, or stop. Nobody is asked again once it was stopped. */
export async function askAboutBudget(
  tx: Tx,
  ctx: SpendingContext,
  scope: BudgetScope,
  of: { need?: TurnNeed; sessionId?: string; projectId?: string | null; taskId?: string | null },
): Promise<void> {
  await lockBudget(tx, scope);
  const state = await readBudget(tx.db, ctx, scope, tx.now);
  if (state.isStopped) return;
  const known = await tx.db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', `budget:${state.id}`)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (known) return;
  const name = await nameOf(tx, scope);
  const facts = { ...factsOf(state, of.need), name, resets_at: state.resetsAt };
  await openDecision(tx, {
    kind: 'budget',
    subject: { kind: 'budget', id: state.id },
    ...(of.projectId ? { projectId: of.projectId } : {}),
    ...(of.sessionId ? { sessionId: of.sessionId } : {}),
    title: titleOf(state, name, of.need),
    detail: { ...facts, task_id: of.taskId ?? null },
    actor,
  });
  await tx.emit({
    kind: 'budget.exhausted',
    actor,
    subject: { kind: 'budget', id: state.id },
    ...(of.projectId ? { projectId: of.projectId } : {}),
    ...(of.sessionId ? { sessionId: of.sessionId } : {}),
    facts: factsOf(state, of.need),
  });
}

/** What a human says about a budget without room. */
export type BudgetVerdict = { kind: 'raise'; by: Cap } | { kind: 'once' } | { kind: 'stop' };

/** Raises a cap, lets one turn pass, or stops; refuses a raise by nothing, and by what the cap does not count. */
export async function settleBudget(
  tx: Tx,
  ctx: SpendingContext,
  id: string,
  verdict: BudgetVerdict,
  by: Actor,
): Promise<Result<BudgetState>> {
  const scope = scopeOf(id);
  await lockBudget(tx, scope);
  const state = await readBudget(tx.db, ctx, scope, tx.now);
  const subject = { kind: 'budget', id };
  if (verdict.kind === 'stop') {
    await tx.db.updateTable('budget').set({ stopped_at: tx.now, updated_at: tx.now }).where('id', '=', id).execute();
    await tx.emit({ kind: 'budget.stopped', actor: by, subject });
    return ok(await readBudget(tx.db, ctx, scope, tx.now));
  }
  if (verdict.kind === 'once') {
    await tx.db
      .updateTable('budget')
      .set((eb) => ({ passes: eb('passes', '+', 1), stopped_at: null, updated_at: tx.now }))
      .where('id', '=', id)
      .execute();
    await tx.emit({ kind: 'budget.passed', actor: by, subject });
  } else {
    const tokens = state.cap.tokens === null ? 0 : (verdict.by.tokens ?? 0);
    const micros = state.cap.micros === null ? 0 : (verdict.by.micros ?? 0);
    if (tokens === 0 && micros === 0)
      return refuse(
        'invalid',
        'raise_without_effect',
        `This cap counts ${[state.cap.tokens !== null && 'tokens', state.cap.micros !== null && 'money'].filter(Boolean).join(' and ') || 'nothing any more'}: raise it by that.`,
        { id },
      );
    await tx.db
      .updateTable('budget')
      .set((eb) => ({
        extra_tokens: eb('extra_tokens', '+', tokens),
        extra_micros: eb('extra_micros', '+', micros),
        stopped_at: null,
        updated_at: tx.now,
      }))
      .where('id', '=', id)
      .execute();
    await tx.emit({ kind: 'budget.raised', actor: by, subject, facts: { tokens, micros } });
  }
  tx.wake(budgetsTopic);
  return ok(await readBudget(tx.db, ctx, scope, tx.now));
}

/** Sets the cap of a project or a task (`--budget`); no cap at all = the setting's holds again. */
export async function setBudget(tx: Tx, scope: BudgetScope, cap: Cap, by: Actor): Promise<void> {
  await lockBudget(tx, scope);
  const id = budgetId(scope);
  await tx.db
    .updateTable('budget')
    .set({
      max_tokens: cap.tokens,
      max_micros: cap.micros,
      extra_tokens: 0,
      extra_micros: 0,
      stopped_at: null,
      updated_at: tx.now,
    })
    .where('id', '=', id)
    .execute();
  await tx.emit({
    kind: 'budget.changed',
    actor: by,
    subject: { kind: 'budget', id },
    ...(scope.scope === 'project' ? { projectId: scope.subject } : {}),
    facts: { tokens: cap.tokens, micros: cap.micros },
  });
  tx.wake(budgetsTopic);
}

/** Withdraws questions about budgets that have room again: a new day, a window that began anew, a changed setting. */
export async function withdrawSettled(tx: Tx, ctx: SpendingContext, today: string): Promise<void> {
  const open = await tx.db
    .selectFrom('decision_request')
    .select(['id', 'subject_id', 'detail'])
    .where('kind', '=', 'budget')
    .where('state', '=', 'open')
    .execute();
  for (const row of open) {
    const scope = scopeOf(row.subject_id);
    const state = await readBudget(tx.db, ctx, scope, tx.now);
    const need = JSON.parse(row.detail) as { need_tokens?: number | null; need_micros?: number | null };
    const isOld = scope.scope === 'day' && scope.subject !== today;
    const hasRoom = judge(state, { tokens: need.need_tokens ?? 0, micros: need.need_micros ?? 0 }) === 'fits';
    if (isOld || hasRoom) await voidDecisions(tx, { dedupeKey: `budget:${row.subject_id}` }, 'room_again');
  }
}

/** A scope from its id. */
export function scopeOf(id: string): BudgetScope {
  const at = id.indexOf(':');
  return { scope: id.slice(0, at) as BudgetScope['scope'], subject: id.slice(at + 1) };
}

async function nameOf(tx: Tx, { scope, subject }: BudgetScope): Promise<string> {
  if (scope !== 'project' && scope !== 'task') return subject;
  const row = await tx.db.selectFrom(scope).select('codename').where('id', '=', subject).executeTakeFirst();
  return row?.codename ?? subject;
}

function titleOf(state: BudgetState, name: string, need: TurnNeed | undefined): string {
  const what = { day: `of ${name}`, plan: `of the plan of ${name}`, project: `of ${name}`, task: `of task ${name}` }[
    state.scope
  ];
  const amounts = [
    state.scope === 'plan' && `${Math.round(state.spent.tokens / 100)} % of its window are used`,
    state.scope !== 'plan' &&
      state.cap.tokens !== null &&
      `${state.spent.tokens} of ${state.cap.tokens} tokens are used`,
    state.cap.micros !== null && `$${dollars(state.spent.micros)} of $${dollars(state.cap.micros)} are used`,
    need &&
      state.scope !== 'plan' &&
      `the next turn is expected to take ${need.tokens} tokens${need.micros === null ? '' : ` ($${dollars(need.micros)})`}`,
  ];
  return `The budget ${what} leaves no room: ${amounts.filter(Boolean).join('; ')}`;
}

const dollars = (micros: number): string => (micros / 1_000_000).toFixed(2);
