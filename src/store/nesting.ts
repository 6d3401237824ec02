import { AsyncLocalStorage } from 'node:async_hooks';

import type { Kysely, KyselyPlugin } from 'kysely';

import type { Schema } from './schema/index.ts';

/** Runs use cases so that one inside another is noticed. */
export interface NestingGuard {
  /** Throws `Error` when called from inside a running use case of the same store. */
  refuse(): void;
  run<T>(fn: () => Promise<T>): Promise<T>;
  /** The same database, where a query from inside a running use case throws: it would not see what that has written. */
  outside(db: Kysely<Schema>): Kysely<Schema>;
}

/** A guard for one store. Timers and listeners that a use case leaves behind are free again once it has ended. */
export function createNestingGuard(): NestingGuard {
  const inside = new AsyncLocalStorage<{ open: boolean }>();
  const refuse = (message: string): void => {
    if (inside.getStore()?.open) throw new Error(message);
  };
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      refuse('store.read was used inside a transaction, which it does not see; use the `db` of its `tx`');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    refuse: () => refuse('store.tx was called inside another transaction; pass its `tx` on instead'),
    async run(fn) {
      const state = { open: true };
      try {
        return await inside.run(state, fn);
      } finally {
        state.open = false;
      }
    },
    outside: (db) => db.withPlugin(plugin),
  };
}
