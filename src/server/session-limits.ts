import type { Caller } from '../app/index.ts';
import { ok, refuse, type Result } from '../kernel/index.ts';

/** What a session may hold open at a time. */
const limits = { stream: 2, wait: 4 } as const;

/** Counts what the callers that are sessions hold open; everybody else is free. */
export interface SessionLimits {
  /** Takes one place; the value gives it back and is safe twice. Refuses `quota` when the session holds as many as it may. */
  take(caller: Caller, what: keyof typeof limits): Result<() => void>;
}

/** Counters of one server: an agent that opens streams and waits without end gets 429 and takes nothing from the others. */
export function createSessionLimits(): SessionLimits {
  const held = new Map<string, number>();
  return {
    take(caller, what) {
      if (caller.actor.kind !== 'session') return ok(() => {});
      const key = `${what}:${caller.actor.id}`;
      const count = held.get(key) ?? 0;
      if (count >= limits[what]) {
        const message = `This session holds ${count} of these open already; end one of them first.`;
        return refuse('quota', 'too_many_open', message, { retry_after_s: 1 });
      }
      held.set(key, count + 1);
      let isHeld = true;
      return ok(() => {
        if (!isHeld) return;
        isHeld = false;
        const left = (held.get(key) ?? 1) - 1;
        if (left > 0) held.set(key, left);
        else held.delete(key);
      });
    },
  };
}
