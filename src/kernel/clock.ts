/** Where time comes from. Everything that judges a deadline takes one, so that tests can move it (style: clock comes in through the kernel). */
export interface Clock {
  /** Epoch milliseconds, UTC; may jump. */
  now(): number;
  /** Milliseconds since an arbitrary point; never goes back. For measuring lengths. */
  monotonic(): number;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock that stands still until it is moved; for tests. */
export interface ManualClock extends Clock {
  /** Moves the clock by `ms` (negative = set back; the monotonic side then stands still). */
  advance(ms: number): void;
  set(epochMs: number): void;
}

/** A manual clock that starts at `startMs` (default 2026-01-01T00:00:00Z). */
export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let wall = startMs;
  let steady = 0;
  const set = (to: number): void => {
    steady += Math.max(0, to - wall);
    wall = to;
  };
  return { now: () => wall, monotonic: () => steady, set, advance: (ms) => set(wall + ms) };
}

/** RFC 3339 with `Z`, the only form on the wire (design 2, S-58). */
export function toRfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
