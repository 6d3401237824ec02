import type { Tx } from '../store/index.ts';
import { priceOf } from './prices.ts';
import { countedTokens, type Db, modelOf, type Spender, type SpendingContext } from './spender.ts';

/** What is expected to be used, and where the number comes from. */
export interface Estimate {
  tokens: number;
  /** Null: no price is known. */
  micros: number | null;
  source: 'history' | 'formula';
  /** How many earlier ones the median is of. */
  samples: number;
}

/** The history that a median is taken of, and the fewest that make one. */
const mostSamples = 20;
const fewestSamples = 3;

/** Tokens of any turn: instructions of the agent itself, its tools, looking around. */
const baseTokens = 12_000;
/** Each token of the text stands for so many of reading and writing. */
const perTextToken = 12;
/** A file that is named is read. */
const perFile = 1_500;
const mostFiles = 200;
const mostByFormula = 400_000;
/** Characters in which names of files are looked for; texts come from agents too. */
const mostScanned = 50_000;

/**
 * The formula for what has no history: 12,000 tokens, 12 for each token of the text (4 characters a token) and 1,500 for
 * each file that it names (200 at most); rounded up to 1,000, at most 400,000.
 */
export function estimateByFormula(text: string): number {
  const files = new Set(
    text
      .slice(0, mostScanned)
      .split(/[\s,;:()"'`]+/)
      .filter(isFileName),
  ).size;
  const tokens = baseTokens + perTextToken * Math.ceil(text.length / 4) + perFile * Math.min(files, mostFiles);
  return Math.min(mostByFormula, Math.ceil(tokens / 1000) * 1000);
}

/** `src/a.ts`, `notes.md`; one pass over a short word, whatever stands in it. */
function isFileName(word: string): boolean {
  if (word.length > 200 || !/^[\w./@-]+$/.test(word)) return false;
  return /[\w-]\/[\w.@-]/.test(word) || /^[\w-]+\.[a-z]{1,4}$/.test(word);
}

/** The next turn: the median of the last 20 turns of the same agent and kind (`author:brief`), else the formula. */
export async function estimateTurn(
  db: Db,
  ctx: SpendingContext,
  turn: { agent: string; kind: string; text: string },
): Promise<Estimate> {
  const rows = await db
    .selectFrom('usage_entry')
    .select((eb) => [
      'turn_id',
      eb.fn.sum('input_tokens').as('input'),
      eb.fn.sum('output_tokens').as('output'),
      eb.fn.sum('cost_micros').as('micros'),
      eb.fn.max('created_at').as('last'),
    ])
    .where('agent', '=', turn.agent)
    .where('kind', '=', turn.kind)
    .where('guessed_tokens', '=', 0)
    .groupBy(['session_id', 'generation', 'turn_id'])
    .orderBy('last', 'desc')
    .limit(mostSamples)
    .execute();
  return estimateFrom(db, ctx, turn, rows);
}

/** A whole session: the median of the last 20 ended ones of the same agent and role, else the formula. */
export async function estimateSession(
  db: Db,
  ctx: SpendingContext,
  work: { agent: string; role: string; text: string },
): Promise<Estimate> {
  const rows = await db
    .selectFrom('usage_entry')
    .innerJoin('session', 'session.id', 'usage_entry.session_id')
    .select((eb) => [
      'session.id',
      eb.fn.sum('input_tokens').as('input'),
      eb.fn.sum('output_tokens').as('output'),
      eb.fn.sum('cost_micros').as('micros'),
      eb.fn.max('session.ended_at').as('last'),
    ])
    .where('usage_entry.agent', '=', work.agent)
    .where('session.role', '=', work.role as never)
    .where('session.state', '=', 'DONE')
    .where('guessed_tokens', '=', 0)
    .groupBy('session.id')
    .orderBy('last', 'desc')
    .limit(mostSamples)
    .execute();
  return estimateFrom(db, ctx, work, rows);
}

async function estimateFrom(
  db: Db,
  ctx: SpendingContext,
  of: { agent: string; text: string },
  rows: readonly { input: unknown; output: unknown; micros: unknown }[],
): Promise<Estimate> {
  const used = rows
    .map((row) => ({
      tokens: countedTokens({ input: Number(row.input), output: Number(row.output), guessed: 0 }),
      micros: Number(row.micros),
    }))
    .filter((row) => row.tokens > 0);
  if (used.length >= fewestSamples) {
    const micros = median(used.map((row) => row.micros));
    return {
      tokens: median(used.map((row) => row.tokens)),
      micros: micros > 0 ? micros : null,
      source: 'history',
      samples: used.length,
    };
  }
  const tokens = estimateByFormula(of.text);
  const price = priceOf(ctx.prices(), await modelOf(db, of.agent));
  // Nine in, one out: what agents read by far outweighs what they write.
  const micros = price ? Math.ceil(tokens * (0.9 * price.input + 0.1 * price.output)) : null;
  return { tokens, micros, source: 'formula', samples: 0 };
}

/** The middle of a list; of an even one the upper of both, so that an estimate is rather too high. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Keeps what a session was expected to use, once, so that it can be shown beside what it did use. */
export async function keepEstimate(tx: Tx, spender: Pick<Spender, 'sessionId'>, estimate: Estimate): Promise<void> {
  await tx.db
    .insertInto('session_estimate')
    .values({
      session_id: spender.sessionId,
      tokens: estimate.tokens,
      cost_micros: estimate.micros,
      source: estimate.source,
      samples: estimate.samples,
      created_at: tx.now,
    })
    .onConflict((conflict) => conflict.column('session_id').doNothing())
    .execute();
}

/** The kept estimates of sessions. */
export async function readEstimates(db: Db, sessionIds: readonly string[]): Promise<Map<string, Estimate>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await db.selectFrom('session_estimate').selectAll().where('session_id', 'in', sessionIds).execute();
  return new Map(
    rows.map((row) => [
      row.session_id,
      { tokens: row.tokens, micros: row.cost_micros, source: row.source, samples: row.samples },
    ]),
  );
}

/** What the last author of a task was expected to use. */
export async function readTaskEstimate(db: Db, taskId: string | null): Promise<Estimate | undefined> {
  if (taskId === null) return undefined;
  const row = await db
    .selectFrom('session_estimate')
    .innerJoin('session', 'session.id', 'session_estimate.session_id')
    .select('session.id')
    .where('session.task_id', '=', taskId)
    .orderBy('session.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? (await readEstimates(db, [row.id])).get(row.id) : undefined;
}
