import type { Caller } from '../app/index.ts';
import { ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import { tooManyCalls } from './bound-calls.ts';
import { type CallMeter, changeBound, createCallMeter } from './call-bounds.ts';

/** What a session may hold open at a time. */
const limits = { stream: 2, wait: 4 } as const;

/** Counts what the callers that are sessions hold open and how much they write; everybody else is free. */
export interface SessionLimits {
  /** Takes one place; the value gives it back and is safe twice. Refuses `quota` when the session holds as many as it may. */
  take(caller: Caller, what: keyof typeof limits): Result<() => void>;
  /** Counts one call that writes. Refuses `quota` `too_many_calls`; once a minute the refusal is worth an event. */
  spend(actor: Caller['actor']): { ok: true } | (Refused & { isWorthTelling: boolean });
}

/** Counters of one server: an agent that opens streams and waits without end gets 429 and takes nothing from the others. */
export function createSessionLimits(now?: () => number): SessionLimits {
  const held = new Map<string, number>();
  const meters = new Map<string, CallMeter>();
  return {
    spend(actor) {
      if (actor.kind !== 'session') return ok();
      let meter = meters.get(actor.id);
      if (!meter) {
        for (const [id, known] of meters) if (known.isFull()) meters.delete(id);
        meters.set(actor.id, (meter = createCallMeter(changeBound, now)));
      }
      const waitS = meter.take();
      if (waitS === 0) return ok();
      return { ok: false, refusal: tooManyCalls(waitS), isWorthTelling: meter.isWorthTelling() };
    },
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
