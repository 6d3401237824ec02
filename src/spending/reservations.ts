import { ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { type BudgetState, judge, lockBudget, readBudget, scopesOf } from './caps.ts';
import { dayOf } from './day.ts';
import type { Spender, SpendingContext } from './spender.ts';
import { addToEntry } from './usage-entries.ts';

/** What a turn is expected to use. */
export interface TurnNeed {
  /** Null: before the first turn, by the dispatcher. */
  turnId: string | null;
  tokens: number;
  /** Null where its price is not known: then only tokens are held. */
  micros: number | null;
}

const actor = systemActor('budgets');

/**
 * Reserves a turn against day, plan, project and task, all or none (sessions decision 7, fail closed). A session holds one
 * reservation: a later turn takes its place. Refused with `budget_exhausted` (a human decides; facts name the budget) or
 * `budget_reserved` (others hold what is left; it is tried again). `force`: reserved whatever the caps say.
 */
export async function reserveTurn(
  tx: Tx,
  ctx: SpendingContext,
  spender: Spender,
  need: TurnNeed,
  options: { force?: boolean } = {},
): Promise<Result<undefined>> {
  const states: BudgetState[] = [];
  for (const scope of scopesOf(ctx, spender, tx.now)) {
    await lockBudget(tx, scope);
    states.push(await readBudget(tx.db, ctx, scope, tx.now, spender.sessionId));
  }
  // The first turn goes on with what the dispatcher reserved for it, and one that is sent again with its own.
  const own = await readOwn(tx, spender);
  let isPass = own?.is_pass === 1 && (own.turn_id === null || own.turn_id === need.turnId);
  if (!options.force && !isPass) {
    const room = await findRoom(tx, states, need);
    if (!room.ok) return room;
    ({ isPass } = room.value);
  }
  const row = {
    generation: spender.generation,
    turn_id: need.turnId,
    day: dayOf(tx.now, ctx.settings().timeZone),
    project_id: spender.projectId,
    task_id: spender.taskId,
    agent: spender.agent,
    tokens: need.tokens,
    cost_micros: need.micros ?? 0,
    is_pass: isPass ? 1 : 0,
    updated_at: tx.now,
  };
  await tx.db
    .insertInto('budget_reservation')
    .values({ session_id: spender.sessionId, created_at: tx.now, ...row })
    .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
    .execute();
  return ok();
}

async function readOwn(tx: Tx, spender: Spender): Promise<{ turn_id: string | null; is_pass: number } | undefined> {
  return tx.db
    .selectFrom('budget_reservation')
    .select(['turn_id', 'is_pass'])
    .where('session_id', '=', spender.sessionId)
    .executeTakeFirst();
}

/** The first budget without room. A turn that a human let pass uses up its pass only when nothing else refuses it. */
async function findRoom(tx: Tx, states: readonly BudgetState[], need: TurnNeed): Promise<Result<{ isPass: boolean }>> {
  const verdicts = states.map((state) => ({ state, verdict: judge(state, need) }));
  const passing = verdicts.filter(({ state, verdict }) => verdict === 'exhausted' && state.passes > 0);
  const over = verdicts.find(({ state, verdict }) => verdict === 'exhausted' && state.passes === 0);
  if (over) return refuse('budget', 'budget_exhausted', describe(over.state, need), factsOf(over.state, need));
  const held = verdicts.find(({ verdict }) => verdict === 'reserved');
  if (held) return refuse('budget', 'budget_reserved', describe(held.state, need), factsOf(held.state, need));
  for (const { state } of passing)
    await tx.db
      .updateTable('budget')
      .set((eb) => ({ passes: eb('passes', '-', 1), updated_at: tx.now }))
      .where('id', '=', state.id)
      .execute();
  return ok({ isPass: passing.length > 0 });
}

function describe(state: BudgetState, need: TurnNeed): string {
  return `The budget of ${state.scope} ${state.subject} leaves no room for the next turn (${need.tokens} tokens are expected): raise it, or decide what "chantier pending" asks.`;
}

/** What a decision and a client need to know of a budget. */
export function factsOf(
  state: BudgetState,
  need?: Pick<TurnNeed, 'tokens' | 'micros'>,
): Record<string, string | number | null> {
  return {
    scope: state.scope,
    subject: state.subject,
    cap_tokens: state.cap.tokens,
    cap_micros: state.cap.micros,
    spent_tokens: state.spent.tokens,
    spent_micros: state.spent.micros,
    reserved_tokens: state.reserved.tokens,
    reserved_micros: state.reserved.micros,
    need_tokens: need?.tokens ?? null,
    need_micros: need?.micros ?? null,
  };
}

/** What was used of a turn is no longer reserved for it. */
export async function shrinkReservation(
  tx: Tx,
  sessionId: string,
  used: { tokens: number; micros: number },
): Promise<void> {
  const row = await tx.db
    .selectFrom('budget_reservation')
    .select(['tokens', 'cost_micros'])
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  if (!row || (used.tokens === 0 && used.micros === 0)) return;
  await tx.db
    .updateTable('budget_reservation')
    .set({
      tokens: Math.max(0, row.tokens - used.tokens),
      cost_micros: Math.max(0, row.cost_micros - used.micros),
      updated_at: tx.now,
    })
    .where('session_id', '=', sessionId)
    .execute();
}

/**
 * Ends what a session holds. `isRun`: the turn was worked on; where its agent reported no tokens for it, what was reserved
 * is booked as a guess, so that an agent that says nothing is not free (money is never guessed).
 */
export async function settleTurn(
  tx: Tx,
  ctx: SpendingContext,
  spender: Spender,
  turn: { id: string; kind: string; isRun: boolean },
): Promise<void> {
  const held = await tx.db
    .deleteFrom('budget_reservation')
    .where('session_id', '=', spender.sessionId)
    .returning(['tokens', 'turn_id'])
    .executeTakeFirst();
  if (!held || !turn.isRun || held.turn_id !== turn.id || held.tokens === 0) return;
  const reported = await tx.db
    .selectFrom('usage_entry')
    .select((eb) => eb.fn.sum(eb('input_tokens', '+', eb.ref('output_tokens'))).as('tokens'))
    .where('session_id', '=', spender.sessionId)
    .where('generation', '=', spender.generation)
    .where('turn_id', '=', turn.id)
    .executeTakeFirst();
  if (Number(reported?.tokens ?? 0) > 0) return;
  const nothing = { input: 0, output: 0, cached: 0, costMicros: 0, costSource: 'unknown' } as const;
  await addToEntry(tx, ctx, spender, turn, { ...nothing, guessed: held.tokens });
}

/** How long a reservation without a turn may stand before it is looked at (ms). */
const staleAfterMs = 60_000;

/**
 * Gives back what nobody runs any more: sessions that are wound up, and those whose turn neither is open nor about to begin.
 * Gives how many. A reservation of a session that still starts stays.
 */
export async function releaseStale(tx: Tx): Promise<number> {
  const stale = await tx.db
    .selectFrom('budget_reservation')
    .innerJoin('session', 'session.id', 'budget_reservation.session_id')
    .select('session.id')
    .where((eb) =>
      eb.or([
        eb('session.wound_up_at', 'is not', null),
        eb.and([
          eb('budget_reservation.updated_at', '<', tx.now - staleAfterMs),
          eb('session.turn_open', '=', 0),
          eb('session.state', '!=', 'STARTING'),
          eb.not(
            eb.exists(
              eb
                .selectFrom('prompt')
                .select('prompt.id')
                .whereRef('prompt.session_id', '=', 'session.id')
                .where('prompt.state', 'in', ['queued', 'sending']),
            ),
          ),
        ]),
      ]),
    )
    .execute();
  for (const { id } of stale) {
    await tx.db.deleteFrom('budget_reservation').where('session_id', '=', id).execute();
    await tx.emit({ kind: 'budget.released', actor, subject: { kind: 'session', id }, sessionId: id });
  }
  return stale.length;
}
