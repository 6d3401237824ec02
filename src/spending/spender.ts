import type { Kysely } from 'kysely';

import type { Schema } from '../store/index.ts';
import type { PriceBook } from './prices.ts';

/** Either a transaction's or the reading connection. */
export type Db = Kysely<Schema>;

/** Who spends: a session with what its bill goes to. A reviewer's task is that of the change it reviews. */
export interface Spender {
  sessionId: string;
  generation: number;
  /** Codename of the agent. */
  agent: string;
  role: string;
  projectId: string | null;
  taskId: string | null;
  pullRequestId: string | null;
  conversationId: string | null;
  /** Conversation that its process was told to go on with. */
  resumesConversation: string | null;
}

/** A cap; null = none. Money in millionths of a dollar. */
export interface Cap {
  tokens: number | null;
  micros: number | null;
}

/** The numbers of budgets; read anew for each use, so that a change applies at once. */
export interface SpendingSettings {
  day: Cap;
  /** For each project and each task without a cap of its own. */
  project: Cap;
  task: Cap;
  /** Share of a plan's window up to which turns begin, in basis points; null = no cap. */
  planBasisPoints: number | null;
  /** IANA name; decides which day it is. */
  timeZone: string;
  /** What the operator says of who pays, by codename; it stands above what agents say. */
  billing: ReadonlyMap<string, 'plan' | 'metered'>;
}

/** What every use case of spending takes besides its transaction. */
export interface SpendingContext {
  settings(): SpendingSettings;
  prices(): PriceBook;
}

/** Tokens that count: what went in, cached or not, what came out, and what was guessed where nothing was reported. */
export function countedTokens(entry: { input: number; output: number; guessed: number }): number {
  return entry.input + entry.output + entry.guessed;
}

/** The model that the operator registered the agent with; never one that the agent names. */
export async function modelOf(db: Db, agent: string): Promise<string | null> {
  const row = await db.selectFrom('agent').select('default_model').where('codename', '=', agent).executeTakeFirst();
  return row?.default_model ?? null;
}
