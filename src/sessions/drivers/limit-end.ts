const unitMs: readonly (readonly [RegExp, number])[] = [
  [/(?<![\d.])(\d{1,3}(?:\.\d{1,12})?) ?d(?:ays?)?\b/i, 86_400_000],
  [/(?<![\d.])(\d{1,4}(?:\.\d{1,12})?) ?h(?:ours?|rs?)?(?![a-z])/i, 3_600_000],
  [/(?<![\d.])(\d{1,5}(?:\.\d{1,12})?) ?m(?:in(?:ute)?s?)?(?![a-z])/i, 60_000],
  [/(?<![\d.])(\d{1,7}(?:\.\d{1,12})?) ?s(?:ec(?:ond)?s?)?(?![a-z])/i, 1000],
];
const duration =
  /(?:retry|try again|resets?|wait)[^.\n]{0,60}?\b(?:in|after)\b:? {0,2}((?:\d[\d.]{0,19} ?[a-z]{1,8},? {0,2}(?:and )?){1,4})/i;
const epoch = /\b(1[789]\d{8})(\d{3})?\b/;
const clockTime =
  /(?:resets?|try again)[^.\n]{0,20}?\b(?:at )?(?:([A-Z][a-z]{2,8}) (\d{1,2})(?:st|nd|rd|th)?,? (?:(\d{4})[ ,]{0,2})?(?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap])\.?m\b\.?(?: \(([A-Za-z_+\-/0-9]{1,40})\))?/i;
const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const dayMs = 86_400_000;

/**
 * The moment at which a provider's text says that its limit ends: a span (`in 3 days 2 hours`, `after 3h25m10s`), seconds
 * since 1970 (`limit reached|1780000000`), or a time of day (`resets 3pm (Europe/Paris)`, `at Sep 3rd, 2026 5:12 PM`), which
 * without a zone is that of this machine. `undefined`: it says none, or one that is past.
 */
export function readLimitEnd(text: string, nowMs: number): number | undefined {
  const span = readSpan(text);
  if (span !== undefined) return nowMs + Math.ceil(span);
  const seconds = epoch.exec(text);
  const end = seconds ? Number(seconds[1]) * 1000 : readClock(text, nowMs);
  return end !== undefined && end > nowMs ? end : undefined;
}

function readSpan(text: string): number | undefined {
  const words = duration.exec(text)?.[1];
  if (words === undefined) return undefined;
  let total = 0;
  for (const [unit, ms] of unitMs) total += Number(unit.exec(words)?.[1] ?? 0) * ms;
  return total > 0 ? total : undefined;
}

function readClock(text: string, nowMs: number): number | undefined {
  const found = clockTime.exec(text);
  if (!found) return undefined;
  const [, monthName, day, year, hourText, minute, half, zone] = found;
  const hour = (Number(hourText) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
  const offset = (at: number): number => zoneOffset(at, zone);
  const here = new Date(nowMs + offset(nowMs));
  const month = monthName === undefined ? here.getUTCMonth() : months.indexOf(monthName.slice(0, 3).toLowerCase());
  if (month < 0 || Number(hourText) > 12) return undefined;
  const date = day === undefined ? here.getUTCDate() : Number(day);
  const wall = Date.UTC(Number(year ?? here.getUTCFullYear()), month, date, hour, Number(minute ?? 0));
  const at = wall - offset(wall - offset(wall));
  if (at > nowMs || monthName !== undefined) return at > nowMs || year !== undefined ? at : nextYear(at);
  return at + dayMs;
}

function nextYear(at: number): number {
  const date = new Date(at);
  return date.setUTCFullYear(date.getUTCFullYear() + 1);
}

/** How far the zone's clocks are ahead of UTC (ms); an unknown zone is this machine's. */
function zoneOffset(at: number, zone: string | undefined): number {
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      ...(zone === undefined ? {} : { timeZone: zone }),
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }).formatToParts(at);
    const get = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
    const wall = Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'));
    return wall - Math.floor(at / 1000) * 1000;
  } catch {
    return zone === undefined ? 0 : zoneOffset(at, undefined);
  }
}
