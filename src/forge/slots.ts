/** Bounds how many heavy runs (set-up, checks) go on at once on this machine (design section 6). */
export interface Slots {
  /** Waits for a slot, runs `fn`, gives the slot back. */
  run<T>(fn: () => Promise<T>): Promise<T>;
  /** How many there are. */
  readonly count: number;
  readonly inUse: number;
  readonly waiting: number;
}

/** How long a run that is held looks away before it asks again, ms. */
const heldMs = 1_000;

/**
 * `count()` slots, given in the order of asking; a changed count holds from the next run on. While `isHeld()` only one run
 * goes on at a time: a machine without memory gets no second build, and is never stuck.
 */
export function createSlots(count: () => number, isHeld: () => boolean = () => false): Slots {
  let inUse = 0;
  let timer: NodeJS.Timeout | undefined;
  const queue: (() => void)[] = [];
  const mayStart = (): boolean => inUse === 0 || (inUse < count() && !isHeld());
  const next = (): void => {
    while (queue.length > 0 && mayStart()) {
      inUse += 1;
      queue.shift()?.();
    }
    clearTimeout(timer);
    if (queue.length > 0 && inUse < count()) timer = setTimeout(next, heldMs).unref();
  };
  return {
    async run(fn) {
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        next();
      });
      try {
        return await fn();
      } finally {
        inUse -= 1;
        next();
      }
    },
    get count() {
      return count();
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
