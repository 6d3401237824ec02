/** So much at once, and so much in each second after that. */
export interface CallBound {
  burst: number;
  perSecond: number;
}

/** Requests at the door of one session, whatever they ask and whoever they say they are. */
export const callBound: CallBound = { burst: 600, perSecond: 50 };

/** Calls of one session that write (reports, questions, messages): each may leave an event. */
export const changeBound: CallBound = { burst: 120, perSecond: 1 };

/** Counts calls against a bound. */
export interface CallMeter {
  /** Counts one call; 0 when it may go on, else the whole seconds until the next one may. */
  take(): number;
  /** Whether as much is free as ever: then this meter knows nothing that a new one does not. */
  isFull(): boolean;
  /** Whether a refusal shall be told now: once a minute. */
  isWorthTelling(): boolean;
}

/** A meter that is full at its start; `now` is in ms and never goes back. */
export function createCallMeter(bound: CallBound, now: () => number = () => performance.now()): CallMeter {
  let left = bound.burst;
  let at = now();
  let toldAt = -Infinity;
  const refill = (): void => {
    const moment = now();
    left = Math.min(bound.burst, left + ((moment - at) / 1000) * bound.perSecond);
    at = moment;
  };
  return {
    take() {
      refill();
      if (left < 1) return Math.max(1, Math.ceil((1 - left) / bound.perSecond));
      left -= 1;
      return 0;
    },
    isFull() {
      refill();
      return left >= bound.burst;
    },
    isWorthTelling() {
      if (at - toldAt < 60_000) return false;
      toldAt = at;
      return true;
    },
  };
}
