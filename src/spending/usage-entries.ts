import type { Schema, Tx } from '../store/index.ts';
import { dayOf } from './day.ts';
import type { Spender, SpendingContext } from './spender.ts';

/** What was added to the bill by one reading. */
export interface Booked {
  input: number;
  output: number;
  cached: number;
  costMicros: number;
  costSource: Schema['usage_entry']['cost_source'];
}

/** Adds to the entry of the turn on today's day; makes it where there is none. */
export async function addToEntry(
  tx: Tx,
  ctx: SpendingContext,
  spender: Spender,
  turn: { id: string; kind: string },
  amount: Booked & { guessed?: number },
): Promise<void> {
  const { input, output, cached, costMicros, costSource, guessed = 0 } = amount;
  await tx.db
    .insertInto('usage_entry')
    .values({
      session_id: spender.sessionId,
      generation: spender.generation,
      turn_id: turn.id,
      day: dayOf(tx.now, ctx.settings().timeZone),
      project_id: spender.projectId,
      task_id: spender.taskId,
      pull_request_id: spender.pullRequestId,
      agent: spender.agent,
      kind: `${spender.role}:${turn.kind}`,
      input_tokens: input,
      output_tokens: output,
      cached_tokens: cached,
      guessed_tokens: guessed,
      cost_micros: costMicros,
      currency: 'USD',
      cost_source: costSource,
      price_version: costSource === 'priced' ? ctx.prices().version : null,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'generation', 'turn_id', 'day']).doUpdateSet((eb) => ({
        input_tokens: eb('usage_entry.input_tokens', '+', input),
        output_tokens: eb('usage_entry.output_tokens', '+', output),
        cached_tokens: eb('usage_entry.cached_tokens', '+', cached),
        guessed_tokens: eb('usage_entry.guessed_tokens', '+', guessed),
        cost_micros: eb('usage_entry.cost_micros', '+', costMicros),
        // The better source stays: what was reported is not unknown because a later count came without money.
        ...(costSource === 'unknown' ? {} : { cost_source: costSource }),
        updated_at: tx.now,
      })),
    )
    .execute();
}
