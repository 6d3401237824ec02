import type { Selectable } from 'kysely';

import type { Schema, Tx } from '../store/index.ts';
import { priceOf, priceTokens } from './prices.ts';
import { cleanCost, cleanCount, type UsageReading } from './reading.ts';
import { shrinkReservation } from './reservations.ts';
import { modelOf, type Spender, type SpendingContext } from './spender.ts';
import { addToEntry, type Booked } from './usage-entries.ts';

type Counter = Selectable<Schema['usage_counter']>;

/**
 * Books what an agent says it has used so far: only what lies above the highest totals of its process, so that a reading
 * that comes again adds nothing and one that is lower takes nothing back. The first reading of a process that resumes a
 * conversation counts on from that conversation's totals where it stands at or above them, else from 0 (sessions decision 7).
 */
export async function bookUsage(
  tx: Tx,
  ctx: SpendingContext,
  spender: Spender,
  turn: { id: string; kind: string },
  reading: UsageReading,
): Promise<Booked> {
  const known = await readCounter(tx, spender);
  const counter = known ?? blankCounter(spender, tx.now);
  const isFirst = counter.input_tokens === null || counter.cost_micros === null;
  const earlier = isFirst ? await readEarlier(tx, spender) : undefined;
  const tokens = tokensAbove(counter, earlier, reading);
  const cost = costAbove(ctx, counter, earlier, reading);
  const isOnPlan =
    (ctx.settings().billing.get(spender.agent) ?? (counter.on_plan || reading.isOnPlan ? 'plan' : null)) === 'plan';
  const money = await priceUp(tx, ctx, spender, {
    ...tokens.delta,
    reported: cost,
    isOnPlan,
    hasReported: counter.cost_micros !== null || cost !== null,
  });
  await storeCounter(tx, spender, {
    ...counter,
    ...tokens.marks,
    conversation_id: spender.conversationId ?? counter.conversation_id,
    cost_micros: cost?.mark ?? counter.cost_micros,
    priced_micros: counter.priced_micros + (money.costSource === 'priced' ? money.costMicros : 0),
    on_plan: counter.on_plan || reading.isOnPlan ? 1 : 0,
    updated_at: tx.now,
  });
  const booked = { ...tokens.delta, ...money };
  await addToEntry(tx, ctx, spender, turn, booked);
  await shrinkReservation(tx, spender.sessionId, { tokens: booked.input + booked.output, micros: booked.costMicros });
  return booked;
}

function tokensAbove(counter: Counter, earlier: Counter | undefined, reading: UsageReading) {
  const said = {
    input: cleanCount(reading.tokens?.input),
    output: cleanCount(reading.tokens?.output),
    cached: cleanCount(reading.tokens?.cached),
  };
  const isFirst = counter.input_tokens === null && counter.output_tokens === null;
  const goesOn =
    isFirst &&
    earlier !== undefined &&
    (said.input ?? 0) >= (earlier.input_tokens ?? 0) &&
    (said.output ?? 0) >= (earlier.output_tokens ?? 0);
  const from = goesOn ? earlier : counter;
  const mark = (value: number | null, base: number | null): number => Math.max(value ?? 0, base ?? 0);
  const marks = {
    input_tokens: mark(said.input, from.input_tokens),
    output_tokens: mark(said.output, from.output_tokens),
    cached_tokens: mark(said.cached, from.cached_tokens),
  };
  const isSaid = said.input !== null || said.output !== null;
  return {
    delta: {
      input: marks.input_tokens - (from.input_tokens ?? 0),
      output: marks.output_tokens - (from.output_tokens ?? 0),
      cached: Math.min(marks.cached_tokens - (from.cached_tokens ?? 0), marks.input_tokens - (from.input_tokens ?? 0)),
    },
    marks: isSaid
      ? marks
      : {
          input_tokens: counter.input_tokens,
          output_tokens: counter.output_tokens,
          cached_tokens: counter.cached_tokens,
        },
  };
}

/** Money above what this process has named or what was priced for it; null where the reading names none. */
function costAbove(
  ctx: SpendingContext,
  counter: Counter,
  earlier: Counter | undefined,
  reading: UsageReading,
): { mark: number; delta: number } | null {
  const said = cleanCost(reading.cost, ctx.prices());
  if (said === null) return null;
  const goesOn = counter.cost_micros === null && said >= (earlier?.cost_micros ?? Infinity);
  const from = counter.cost_micros ?? (goesOn ? (earlier?.cost_micros ?? 0) : 0) + counter.priced_micros;
  return { mark: Math.max(said, counter.cost_micros ?? 0), delta: Math.max(0, said - from) };
}

async function priceUp(
  tx: Tx,
  ctx: SpendingContext,
  spender: Spender,
  used: {
    input: number;
    output: number;
    cached: number;
    reported: { delta: number } | null;
    hasReported: boolean;
    isOnPlan: boolean;
  },
): Promise<Pick<Booked, 'costMicros' | 'costSource'>> {
  // A subscription is no money, whatever amount an agent makes up for it.
  if (used.isOnPlan) return { costMicros: 0, costSource: 'plan' };
  if (used.hasReported) return { costMicros: used.reported?.delta ?? 0, costSource: 'reported' };
  const price = priceOf(ctx.prices(), await modelOf(tx.db, spender.agent));
  if (!price) return { costMicros: 0, costSource: 'unknown' };
  return { costMicros: priceTokens(price, used), costSource: 'priced' };
}

async function readCounter(tx: Tx, spender: Spender): Promise<Counter | undefined> {
  return tx.db
    .selectFrom('usage_counter')
    .selectAll()
    .where('session_id', '=', spender.sessionId)
    .where('generation', '=', spender.generation)
    .executeTakeFirst();
}

/**
 * The last totals of the conversation that this process was told to go on with, under another process of the same agent on
 * the same work: an agent that names somebody else's conversation as its own inherits no totals of it.
 */
async function readEarlier(tx: Tx, spender: Spender): Promise<Counter | undefined> {
  if (spender.resumesConversation === null) return undefined;
  return tx.db
    .selectFrom('usage_counter')
    .innerJoin('session', 'session.id', 'usage_counter.session_id')
    .selectAll('usage_counter')
    .where('usage_counter.conversation_id', '=', spender.resumesConversation)
    .where('session.agent', '=', spender.agent)
    .where((eb) =>
      eb.or([
        eb('session.id', '=', spender.sessionId),
        eb('session.task_id', '=', spender.taskId ?? ''),
        eb('session.pull_request_id', '=', spender.pullRequestId ?? ''),
      ]),
    )
    .where((eb) =>
      eb.or([
        eb('usage_counter.session_id', '!=', spender.sessionId),
        eb('usage_counter.generation', '!=', spender.generation),
      ]),
    )
    .orderBy('usage_counter.updated_at', 'desc')
    .orderBy('usage_counter.generation', 'desc')
    .limit(1)
    .executeTakeFirst();
}

function blankCounter(spender: Spender, now: number): Counter {
  return {
    session_id: spender.sessionId,
    generation: spender.generation,
    conversation_id: null,
    input_tokens: null,
    output_tokens: null,
    cached_tokens: null,
    cost_micros: null,
    priced_micros: 0,
    on_plan: 0,
    updated_at: now,
  };
}

async function storeCounter(tx: Tx, spender: Spender, counter: Counter): Promise<void> {
  const { session_id: _session, generation: _generation, ...values } = counter;
  await tx.db
    .insertInto('usage_counter')
    .values({ ...counter, session_id: spender.sessionId, generation: spender.generation })
    .onConflict((conflict) => conflict.columns(['session_id', 'generation']).doUpdateSet(values))
    .execute();
}
