import type { Kysely } from 'kysely';

import { eventRow, type UnsequencedRow } from './events.ts';
import type { StoreDialect } from './migrations/index.ts';
import type { Schema } from './schema/index.ts';
import type { Tx } from './store.ts';

/** What a use case leaves to do at its end: events to append before COMMIT, wake-ups to send after it. */
export interface Gathered {
  readonly tx: Tx;
  /**
   * In the order of `emit`. They are written last, when every row lock of the use case is held: so their order agrees
   * with the order in which conflicting transactions commit.
   */
  readonly events: UnsequencedRow[];
  /** Each pair once. */
  wakes(): [topic: string, subject: string][];
  /** Whether the use case remembered an idempotency key, so that running it again finds its own answer. */
  keyed: boolean;
}

/** Makes the `tx` that a use case gets, and gathers what it leaves behind. */
export function gather(
  dialect: StoreDialect,
  db: Kysely<Schema>,
  now: number,
  lock: (table: keyof Schema & string, id: string) => Promise<void>,
): Gathered {
  const events: UnsequencedRow[] = [];
  const wakes = new Map<string, [string, string]>();
  const tx: Tx = {
    dialect,
    db,
    now,
    lock,
    async emit(event) {
      const row = eventRow(event, now);
      events.push(row);
      return row.id;
    },
    wake: (topic, subject = '') => void wakes.set(`${topic}\n${subject}`, [topic, subject]),
  };
  const gathered: Gathered = { tx, events, wakes: () => [...wakes.values()], keyed: false };
  gatheredOf.set(tx, gathered);
  return gathered;
}

const gatheredOf = new WeakMap<Tx, Gathered>();

/** Notes that the transaction wrote its idempotency record (see `Gathered.keyed`). */
export function markKeyed(tx: Tx): void {
  const gathered = gatheredOf.get(tx);
  if (gathered) gathered.keyed = true;
}
