import { AsyncLocalStorage } from 'node:async_hooks';

/** Runs use cases so that one inside another is noticed. */
export interface NestingGuard {
  /** Throws `Error` when called from inside a running use case of the same store. */
  refuse(): void;
  run<T>(fn: () => Promise<T>): Promise<T>;
}

/** A guard for one store. Timers and listeners that a use case leaves behind are free again once it has ended. */
export function createNestingGuard(): NestingGuard {
  const inside = new AsyncLocalStorage<{ open: boolean }>();
  return {
    refuse() {
      if (inside.getStore()?.open)
        throw new Error('store.tx was called inside another transaction; pass its `tx` on instead');
    },
    async run(fn) {
      const state = { open: true };
      try {
        return await inside.run(state, fn);
      } finally {
        state.open = false;
      }
    },
  };
}
