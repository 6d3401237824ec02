const minuteMs = 60_000;
const dayMin = 24 * 60;

/** Quiet hours by the clock on the wall of a time zone; the end is not part of them. */
export interface QuietHours {
  fromMin: number;
  toMin: number;
  timeZone: string;
}

/** Reads `22:00-07:00`; `undefined` for none. An unknown zone counts as that of the machine. */
export function parseQuietHours(text: string, timeZone: string): QuietHours | undefined {
  const match = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text);
  if (!match) return undefined;
  const [fromHour, from, toHour, to] = match.slice(1).map(Number) as [number, number, number, number];
  const hours = { fromMin: fromHour * 60 + from, toMin: toHour * 60 + to, timeZone: zoneOf(timeZone) };
  return hours.fromMin === hours.toMin ? undefined : hours;
}

/** How long quiet lasts from `at` on (ms), or `undefined` when it is not quiet. Asked again at its end, since a zone may change its offset. */
export function quietForMs(quiet: QuietHours | undefined, at: number): number | undefined {
  if (!quiet) return undefined;
  const minute = minuteOfDay(at, quiet.timeZone);
  const sinceFrom = (minute - quiet.fromMin + dayMin) % dayMin;
  const length = (quiet.toMin - quiet.fromMin + dayMin) % dayMin;
  if (sinceFrom >= length) return undefined;
  return (length - sinceFrom) * minuteMs - (at % minuteMs);
}

/** A time as people in the zone read it: `30 Nov 14:05`. */
export function shortTimeIn(timeZone: string, at: number): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: zoneOf(timeZone),
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
    .format(at)
    .replace(',', '');
}

/** Whether the machine knows the zone; empty = the machine's own. */
export function isTimeZone(name: string): boolean {
  try {
    return name === '' || new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

function zoneOf(name: string): string {
  return name !== '' && isTimeZone(name) ? name : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function minuteOfDay(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  return part('hour') * 60 + part('minute');
}
