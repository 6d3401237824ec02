import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseQuietHours, quietForMs, shortTimeIn } from './quiet-hours.ts';
import { newsAt, nextReminderAt, withinReach } from './schedule.ts';

const min = 60_000;
const t0 = Date.UTC(2026, 0, 1);

describe('reminders', () => {
  it('come after 5, 15 and 60 minutes, then each hour, and never end (S-35)', () => {
    const times: number[] = [];
    for (let now = t0, n = 0; n < 6; n += 1) {
      now = nextReminderAt(t0, now);
      times.push((now - t0) / min);
    }
    expect(times).toEqual([5, 15, 60, 120, 180, 240]);
    const year = 365 * 24 * 60 * min;
    expect(nextReminderAt(t0, t0 + year)).toBe(t0 + year + 60 * min);
  });

  it('are one after any jump of the clock, always ahead and never more than an hour away (S-35)', () => {
    assert(
      property(integer({ min: -1e12, max: 1e12 }), (jump) => {
        const now = t0 + jump;
        const next = nextReminderAt(t0, now);
        expect(next).toBeGreaterThan(now);
        expect(next - now).toBeLessThanOrEqual(60 * min);
        const told = { openedAt: t0, nextAt: t0 + 5 * min, lastSentAt: t0 };
        expect(withinReach(told, now).nextAt - now).toBeLessThanOrEqual(60 * min);
      }),
    );
  });

  it('news of a subject that was just told of wait half a minute, whatever the clock did', () => {
    const told = { openedAt: t0, nextAt: t0 + 5 * min, lastSentAt: t0 };
    expect(newsAt(told, t0 + 1000)).toBe(t0 + 30_000);
    expect(newsAt(told, t0 + 2 * min)).toBe(t0 + 2 * min);
    expect(newsAt(told, t0 - 9 * min)).toBe(t0 - 9 * min);
  });
});

describe('quiet hours', () => {
  const quiet = parseQuietHours('22:00-07:00', 'Europe/Vienna');

  it('go over midnight by the clock of their zone, and end with their last minute (S-35)', () => {
    expect(quietForMs(quiet, Date.UTC(2026, 0, 1, 20, 59))).toBeUndefined();
    expect(quietForMs(quiet, Date.UTC(2026, 0, 1, 21, 0))).toBe(9 * 60 * min);
    expect(quietForMs(quiet, Date.UTC(2026, 0, 2, 5, 59, 30))).toBe(30_000);
    expect(quietForMs(quiet, Date.UTC(2026, 0, 2, 6, 0))).toBeUndefined();
    // Summer time: the same wall clock is an hour earlier in UTC.
    expect(quietForMs(quiet, Date.UTC(2026, 6, 1, 20, 0))).toBe(9 * 60 * min);
  });

  it('are none when empty or without length; an unknown zone is that of the machine', () => {
    expect(parseQuietHours('', '')).toBeUndefined();
    expect(parseQuietHours('07:00-07:00', '')).toBeUndefined();
    expect(parseQuietHours('22:00-07:00', 'Mars/Base')?.timeZone).toBe(
      Intl.DateTimeFormat().resolvedOptions().timeZone,
    );
    expect(shortTimeIn('Asia/Tokyo', t0)).toBe('1 Jan 09:00');
  });
});
