import type { Tx } from '../store/index.ts';
import { dayOf } from './day.ts';
import type { Cap, Db, Spender, SpendingContext } from './spender.ts';

/** What a cap is about: `day` 2026-01-31, `plan` <agent>, `project` <id>, `task` <id>. */
export interface BudgetScope {
  scope: 'day' | 'plan' | 'project' | 'task';
  subject: string;
}

/** One cap as it stands: what it allows, what was spent and what is reserved against it. */
export interface BudgetState extends BudgetScope {
  id: string;
  cap: Cap;
  /** For `plan`: basis points of the window. */
  spent: { tokens: number; micros: number };
  /** By other sessions than the asking one. */
  reserved: { tokens: number; micros: number };
  passes: number;
  isStopped: boolean;
  warned: Cap;
  /** Of a plan's window: when it begins anew. */
  resetsAt: number | null;
}

export const budgetId = ({ scope, subject }: BudgetScope): string => `${scope}:${subject}`;

/** The scopes that a spender's turns count against, always in this order: so two of them never wait for one another. */
export function scopesOf(ctx: SpendingContext, spender: Spender, now: number): BudgetScope[] {
  return [
    { scope: 'day', subject: dayOf(now, ctx.settings().timeZone) },
    { scope: 'plan', subject: spender.agent },
    ...(spender.projectId === null ? [] : [{ scope: 'project', subject: spender.projectId } as const]),
    ...(spender.taskId === null ? [] : [{ scope: 'task', subject: spender.taskId } as const]),
  ];
}

/** Holds the row of a budget until the transaction ends, so that two who reserve against it come one after the other. */
export async function lockBudget(tx: Tx, scope: BudgetScope): Promise<void> {
  const id = budgetId(scope);
  await tx.db
    .insertInto('budget')
    .values({
      id,
      scope: scope.scope,
      subject_id: scope.subject,
      max_tokens: null,
      max_micros: null,
      warned_tokens: null,
      warned_micros: null,
      stopped_at: null,
      extra_tokens: 0,
      extra_micros: 0,
      passes: 0,
      updated_at: tx.now,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  await tx.lock('budget', id);
}

/** Reads one budget whole. `exceptSession`: whose own reservation does not count. */
export async function readBudget(
  db: Db,
  ctx: SpendingContext,
  scope: BudgetScope,
  now: number,
  exceptSession = '',
): Promise<BudgetState> {
  const id = budgetId(scope);
  const row = await db.selectFrom('budget').selectAll().where('id', '=', id).executeTakeFirst();
  const plan = scope.scope === 'plan' ? await readPlan(db, scope.subject, now) : undefined;
  return {
    ...scope,
    id,
    cap: capOf(ctx, scope, row, await euroCap(db, ctx, scope)),
    spent: plan ? { tokens: plan.basisPoints, micros: 0 } : await sumEntries(db, scope),
    reserved: plan ? { tokens: 0, micros: 0 } : await sumReservations(db, scope, exceptSession),
    passes: row?.passes ?? 0,
    isStopped: (row?.stopped_at ?? null) !== null,
    warned: { tokens: row?.warned_tokens ?? null, micros: row?.warned_micros ?? null },
    resetsAt: plan?.resetsAt ?? null,
  };
}

type Row = { max_tokens: number | null; max_micros: number | null; extra_tokens: number; extra_micros: number };

function capOf(ctx: SpendingContext, { scope }: BudgetScope, row: Row | undefined, own: Cap | undefined): Cap {
  const settings = ctx.settings();
  const base = scope === 'plan' ? { tokens: settings.planBasisPoints, micros: null } : (own ?? settings[scope]);
  // A cap of its own replaces the setting's whole: one in money is not also held by the setting's in tokens.
  const isOwn = row !== undefined && (row.max_tokens !== null || row.max_micros !== null);
  const cap = isOwn ? { tokens: row.max_tokens, micros: row.max_micros } : base;
  return {
    tokens: cap.tokens === null ? null : cap.tokens + (row?.extra_tokens ?? 0),
    micros: cap.micros === null ? null : cap.micros + (row?.extra_micros ?? 0),
  };
}

/** `max_cost_eur` of a project (L-11), as dollars by the price list. */
async function euroCap(db: Db, ctx: SpendingContext, { scope, subject }: BudgetScope): Promise<Cap | undefined> {
  if (scope !== 'project') return undefined;
  const row = await db.selectFrom('project').select('max_cost_micros').where('id', '=', subject).executeTakeFirst();
  const euros = row?.max_cost_micros ?? null;
  return euros === null ? undefined : { tokens: null, micros: Math.floor(euros * (ctx.prices().usdPer.EUR ?? 1)) };
}

const columns = { day: 'day', project: 'project_id', task: 'task_id' } as const;

async function sumEntries(db: Db, { scope, subject }: BudgetScope): Promise<{ tokens: number; micros: number }> {
  if (scope === 'plan') return { tokens: 0, micros: 0 };
  const sum = await db
    .selectFrom('usage_entry')
    .select((eb) => [
      eb.fn.sum('input_tokens').as('input'),
      eb.fn.sum('output_tokens').as('output'),
      eb.fn.sum('guessed_tokens').as('guessed'),
      eb.fn.sum('cost_micros').as('micros'),
    ])
    .where(columns[scope], '=', subject)
    .executeTakeFirstOrThrow();
  return { tokens: Number(sum.input) + Number(sum.output) + Number(sum.guessed), micros: Number(sum.micros) };
}

async function sumReservations(
  db: Db,
  { scope, subject }: BudgetScope,
  exceptSession: string,
): Promise<{ tokens: number; micros: number }> {
  if (scope === 'plan') return { tokens: 0, micros: 0 };
  const sum = await db
    .selectFrom('budget_reservation')
    .select((eb) => [eb.fn.sum('tokens').as('tokens'), eb.fn.sum('cost_micros').as('micros')])
    .where(columns[scope], '=', subject)
    .where('session_id', '!=', exceptSession)
    .executeTakeFirstOrThrow();
  return { tokens: Number(sum.tokens), micros: Number(sum.micros) };
}

/** The fullest window of an agent's plan that has not begun anew since it was reported. */
async function readPlan(db: Db, agent: string, now: number): Promise<{ basisPoints: number; resetsAt: number | null }> {
  const rows = await db.selectFrom('plan_window').selectAll().where('agent', '=', agent).execute();
  const live = rows.filter((row) => row.resets_at === null || row.resets_at > now);
  const fullest = live.toSorted((a, b) => b.used_basis_points - a.used_basis_points)[0];
  return { basisPoints: fullest?.used_basis_points ?? 0, resetsAt: fullest?.resets_at ?? null };
}

/** What stands in the way of `need` more: nothing, only what others have reserved, or the cap itself. */
export function judge(
  state: BudgetState,
  need: { tokens: number; micros: number | null },
): 'fits' | 'reserved' | 'exhausted' {
  if (state.isStopped) return 'exhausted';
  const tokens = state.scope === 'plan' ? 1 : need.tokens;
  const parts = [
    part(state.cap.tokens, state.spent.tokens, state.reserved.tokens, tokens),
    part(state.cap.micros, state.spent.micros, state.reserved.micros, need.micros ?? 0),
  ];
  if (parts.includes('exhausted')) return 'exhausted';
  return parts.includes('reserved') ? 'reserved' : 'fits';
}

function part(cap: number | null, spent: number, reserved: number, need: number): ReturnType<typeof judge> {
  if (cap === null) return 'fits';
  if (spent >= cap || spent + need > cap) return 'exhausted';
  return spent + reserved + need > cap ? 'reserved' : 'fits';
}
