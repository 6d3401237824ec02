/** Who listens to which topic in this process. */
export interface WakeHub {
  on(topic: string, listener: (subject: string) => void): () => void;
  /** Calls the listeners of `topic` in a later turn, so that a commit never runs their code. */
  fire(topic: string, subject: string): void;
}

export function createWakeHub(): WakeHub {
  const listeners = new Map<string, Set<(subject: string) => void>>();
  return {
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set.add(listener));
      return () => void set.delete(listener);
    },
    fire(topic, subject) {
      const set = listeners.get(topic);
      if (!set || set.size === 0) return;
      setImmediate(() => {
        for (const listener of set) listener(subject);
      });
    },
  };
}
