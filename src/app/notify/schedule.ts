const minuteMs = 60_000;

/** When an open question is told of again, minutes after it was opened; then each hour (S-35). */
const firstRemindersMin = [5, 15, 60] as const;
const hourMs = 60 * minuteMs;

/** New questions of a session that was just told of wait so long, so that many at once are one message. */
const gatherMs = 30_000;

/** What is needed to plan the next message. */
export interface Told {
  openedAt: number;
  nextAt: number;
  lastSentAt: number | null;
}

/**
 * The next reminder after a message at `now`: the first planned time that lies ahead. However far the clock jumped, what was
 * missed is one message, not a burst; there is no last one (S-35).
 */
export function nextReminderAt(openedAt: number, now: number): number {
  // A clock that was set back makes the opening lie ahead.
  const from = Math.min(openedAt, now);
  for (const minutes of firstRemindersMin) if (from + minutes * minuteMs > now) return from + minutes * minuteMs;
  return from + (Math.floor((now - from) / hourMs) + 1) * hourMs;
}

/** A time ahead by more than the longest gap was planned by a clock that ran ahead: it is brought back into reach. */
export function withinReach(told: Told, now: number): Pick<Told, 'openedAt' | 'nextAt'> {
  if (told.nextAt - now <= hourMs) return { openedAt: told.openedAt, nextAt: told.nextAt };
  return { openedAt: Math.min(told.openedAt, now), nextAt: now + hourMs };
}

/** When something new under a subject that was told of before may be told. */
export function newsAt(told: Told, now: number): number {
  const last = told.lastSentAt;
  const earliest = last === null || last > now ? now : Math.max(now, last + gatherMs);
  return Math.min(told.nextAt, earliest);
}
