/** Who listens to which topic in this process. */
export interface WakeHub {
  on(topic: string, listener: (subject: string) => void): () => void;
  /** Calls the listeners of `topic` in a later turn, so that a commit never runs their code. */
  fire(topic: string, subject: string): void;
  /** Calls every listener with the subject `''` ("look at everything"): after wake-ups may have been missed. */
  fireAll(): void;
  /** Forgets every listener; what was fired and not yet heard is not heard any more. */
  close(): void;
}

/** An empty hub. A listener that throws surfaces as an uncaught exception: it is a bug, not the committer's failure. */
export function createWakeHub(): WakeHub {
  const listeners = new Map<string, Set<(subject: string) => void>>();
  const fire = (topic: string, subject: string): void => {
    if (!listeners.has(topic)) return;
    setImmediate(() => {
      for (const listener of listeners.get(topic) ?? []) listener(subject);
    });
  };
  return {
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set();
      const own = (subject: string): void => listener(subject);
      listeners.set(topic, set.add(own));
      return () => {
        set.delete(own);
        if (set.size === 0 && listeners.get(topic) === set) listeners.delete(topic);
      };
    },
    fire,
    fireAll() {
      for (const topic of listeners.keys()) fire(topic, '');
    },
    close: () => listeners.clear(),
  };
}
