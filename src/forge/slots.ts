/** Bounds how many heavy runs (set-up, checks) go on at once on this machine (design section 6). */
export interface Slots {
  /** Waits for a slot, runs `fn`, gives the slot back. */
  run<T>(fn: () => Promise<T>): Promise<T>;
  readonly inUse: number;
  readonly waiting: number;
}

/** `count` slots, given in the order of asking. */
export function createSlots(count: number): Slots {
  let inUse = 0;
  const queue: (() => void)[] = [];
  return {
    async run(fn) {
      if (inUse >= count) await new Promise<void>((resolve) => queue.push(resolve));
      else inUse += 1;
      try {
        return await fn();
      } finally {
        const next = queue.shift();
        // The slot passes on without becoming free, so that nobody overtakes the queue.
        if (next) next();
        else inUse -= 1;
      }
    },
    get inUse() {
      return inUse;
    },
    get waiting() {
      return queue.length;
    },
  };
}

/** Runs what bears the same key one after another, different keys side by side. */
export interface KeyedTurns {
  run<T>(key: string, fn: () => Promise<T>): Promise<T>;
}

/** Turns by key; a key that nobody waits for takes no memory. Not to be nested with the same key. */
export function createKeyedTurns(): KeyedTurns {
  const last = new Map<string, Promise<unknown>>();
  return {
    run(key, fn) {
      const turn = runAfter(last.get(key), fn);
      last.set(key, turn);
      const forget = (): void => {
        if (last.get(key) === turn) last.delete(key);
      };
      turn.then(forget, forget);
      return turn;
    },
  };
}

async function runAfter<T>(before: Promise<unknown> | undefined, fn: () => Promise<T>): Promise<T> {
  // How the step before ended is for its own caller to know.
  await before?.catch(() => {});
  return fn();
}
