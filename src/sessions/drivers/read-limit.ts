import type { DriverEvent } from './driver-event.ts';

/** ACP's code for "log in first". */
const authRequired = -32000;

type Limit = Extract<DriverEvent, { kind: 'limit' }>;

/** In this order: a billing text often speaks of limits too. ACP has no code for them, so texts are all there is. */
const signs: readonly { reason: Limit['reason']; pattern: RegExp }[] = [
  { reason: 'billing', pattern: /billing|credit balance|payment required|insufficient (?:funds|credit|quota)/i },
  { reason: 'usage', pattern: /(?:usage|session|weekly|daily|5-hour|monthly) limit|limit reached|quota/i },
  { reason: 'rate', pattern: /\b429\b|rate.?limit|too many requests|overloaded|\b529\b/i },
];

const secondsPattern = /(?:retry|try again|reset)[^.]{0,40}?\bin (\d{1,6}) ?(?:s\b|sec)/i;
const epochPattern = /\b(1[789]\d{8})(\d{3})?\b/;

/** The provider's limit that a failed turn speaks of, if it does (design section 7, "Provider limits"). */
export function readLimit(error: { code: number; message: string; data?: unknown }, nowMs: number): Limit[] {
  if (error.code === authRequired) return [{ kind: 'limit', reason: 'auth', asserted: true }];
  const text = `${error.message} ${error.data === undefined ? '' : JSON.stringify(error.data)}`.slice(0, 4_000);
  const sign = signs.find(({ pattern }) => pattern.test(text));
  if (!sign) return [];
  const untilMs = readEnd(text, nowMs);
  return [{ kind: 'limit', reason: sign.reason, ...(untilMs === undefined ? {} : { untilMs }), asserted: false }];
}

function readEnd(text: string, nowMs: number): number | undefined {
  const seconds = secondsPattern.exec(text)?.[1];
  if (seconds) return nowMs + Number(seconds) * 1000;
  const epoch = epochPattern.exec(text);
  const end = epoch ? Number(epoch[1]) * 1000 : undefined;
  return end !== undefined && end > nowMs ? end : undefined;
}
