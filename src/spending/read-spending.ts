import { countedTokens, type Db } from './spender.ts';

/** What was used, summed. */
export interface Spending {
  input: number;
  output: number;
  cached: number;
  guessed: number;
  /** What counts against caps. */
  tokens: number;
  micros: number;
  /** Where the money comes from; empty = nothing was used. */
  sources: ('reported' | 'priced' | 'plan' | 'unknown')[];
}

/** Whose spending is summed; members are joined by "and". */
export interface SpendingFilter {
  sessionId?: string;
  taskId?: string;
  projectId?: string;
  day?: string;
  /** Epoch ms from which on. */
  since?: number;
  /** A landed change: its own entries and those of its task, reviews included. */
  change?: { pullRequestId: string; taskId: string | null };
}

/** The query that sums usage, a row for each source of the money. */
export function sumUsage(db: Db) {
  return db
    .selectFrom('usage_entry')
    .select((eb) => [
      'cost_source',
      eb.fn.sum('input_tokens').as('input'),
      eb.fn.sum('output_tokens').as('output'),
      eb.fn.sum('cached_tokens').as('cached'),
      eb.fn.sum('guessed_tokens').as('guessed'),
      eb.fn.sum('cost_micros').as('micros'),
    ])
    .groupBy('cost_source');
}

/** Sums what the filter names. */
export async function readSpending(db: Db, filter: SpendingFilter): Promise<Spending> {
  const [sum] = await sumBy(db, filter);
  return sum?.spending ?? nothingSpent;
}

export const nothingSpent: Spending = {
  input: 0,
  output: 0,
  cached: 0,
  guessed: 0,
  tokens: 0,
  micros: 0,
  sources: [],
};

/** Sums for each session of a list. */
export async function readSpendingOfSessions(db: Db, ids: readonly string[]): Promise<Map<string, Spending>> {
  if (ids.length === 0) return new Map();
  const sums = await sumBy(db, {}, ids);
  return new Map(sums.map((sum) => [sum.key, sum.spending]));
}

async function sumBy(
  db: Db,
  filter: SpendingFilter,
  sessions?: readonly string[],
): Promise<{ key: string; spending: Spending }[]> {
  let query = sumUsage(db);
  if (sessions) query = query.where('session_id', 'in', sessions);
  if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId);
  if (filter.taskId !== undefined) query = query.where('task_id', '=', filter.taskId);
  if (filter.projectId !== undefined) query = query.where('project_id', '=', filter.projectId);
  if (filter.day !== undefined) query = query.where('day', '=', filter.day);
  if (filter.since !== undefined) query = query.where('updated_at', '>=', filter.since);
  const { change } = filter;
  if (change)
    query = query.where((eb) =>
      eb.or([
        eb('pull_request_id', '=', change.pullRequestId),
        ...(change.taskId === null ? [] : [eb('task_id', '=', change.taskId)]),
      ]),
    );
  const rows = sessions
    ? await query.select('session_id as key').groupBy('session_id').execute()
    : (await query.execute()).map((row) => ({ ...row, key: '' }));
  const sums = new Map<string, Spending>();
  for (const row of rows) {
    const sum = sums.get(row.key) ?? { ...nothingSpent, sources: [] };
    sum.input += Number(row.input);
    sum.output += Number(row.output);
    sum.cached += Number(row.cached);
    sum.guessed += Number(row.guessed);
    sum.micros += Number(row.micros);
    sum.tokens = countedTokens(sum);
    sum.sources.push(row.cost_source);
    sums.set(row.key, sum);
  }
  return [...sums].map(([key, spending]) => ({ key, spending }));
}
