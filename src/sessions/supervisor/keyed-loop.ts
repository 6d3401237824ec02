/** Runs `work(id)` for ids that were poked: one at a time for each id, again if poked meanwhile. */
export interface KeyedLoop {
  /** Asks for a run; never throws, never waits. */
  poke(id: string): void;
  /** As `poke`, after `ms`; an earlier wish for the same id stays. */
  pokeLater(id: string, ms: number): void;
  /** Takes no more and waits for what runs. */
  stop(): Promise<void>;
}

/** A level-triggered loop: what it reads decides, a poke only wakes it (design section 5 "reconcilers"). */
export function createKeyedLoop(
  work: (id: string) => Promise<void>,
  onFault: (error: unknown, id: string) => void,
): KeyedLoop {
  const running = new Map<string, Promise<void>>();
  const again = new Set<string>();
  const timers = new Map<string, NodeJS.Timeout>();
  const ending = { isWanted: false };

  function poke(id: string): void {
    if (ending.isWanted) return;
    if (running.has(id)) {
      again.add(id);
      return;
    }
    running.set(id, run(id));
  }

  async function run(id: string): Promise<void> {
    do {
      again.delete(id);
      try {
        await work(id);
      } catch (error) {
        onFault(error, id);
      }
    } while (again.has(id) && !ending.isWanted);
    running.delete(id);
  }

  return {
    poke,
    pokeLater(id, ms) {
      if (ending.isWanted || timers.has(id)) return;
      const timer = setTimeout(() => {
        timers.delete(id);
        poke(id);
      }, ms);
      timers.set(id, timer.unref());
    },
    async stop() {
      ending.isWanted = true;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      await Promise.all(running.values());
    },
  };
}
