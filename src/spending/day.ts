const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The day, `2026-01-31`, in an IANA time zone. What is booked keeps the day it was booked on: a clock or zone that is changed
 * afterwards moves nothing from one day to another. Throws `RangeError` for a zone that nobody knows.
 */
export function dayOf(atMs: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
    formats.set(timeZone, format);
  }
  return format.format(atMs);
}

/** The zone that a setting names; empty = the machine's. An unknown one counts as UTC, so that a day never fails to be one. */
export function timeZoneOf(setting: string): string {
  const wanted = setting || Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    dayOf(0, wanted);
    return wanted;
  } catch {
    return 'UTC';
  }
}
