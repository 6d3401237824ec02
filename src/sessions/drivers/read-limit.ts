import type { DriverEvent } from './driver-event.ts';
import { readLimitEnd } from './limit-end.ts';
import { isRecord, numberOf, textOf } from './read-json.ts';

/** ACP's code for "log in first". */
const authRequired = -32000;

type Limit = Extract<DriverEvent, { kind: 'limit' }>;

/** In this order: a billing text often speaks of limits too. ACP has no code for them, so texts are all there is. */
const signs: readonly { reason: Limit['reason']; pattern: RegExp }[] = [
  { reason: 'billing', pattern: /billing|credit balance|payment required|insufficient[_ ](?:funds|credit|quota)/i },
  {
    reason: 'usage',
    pattern: /(?:usage|session|weekly|daily|5-hour|monthly) limit|limit reached|hit your limit|quota/i,
  },
  { reason: 'rate', pattern: /\b429\b|rate.?limit|too many requests|overloaded|resource.?exhausted|\b529\b/i },
];

/** The provider's limit that a failed turn speaks of, if it does (design section 7, "Provider limits"). */
export function readLimit(error: { code: number; message: string; data?: unknown }, nowMs: number): Limit[] {
  if (error.code === authRequired) return [{ kind: 'limit', reason: 'auth', asserted: true }];
  const text = `${error.message} ${error.data === undefined ? '' : JSON.stringify(error.data)}`.slice(0, 4_000);
  const sign = signs.find(({ pattern }) => pattern.test(text));
  if (!sign) return [];
  const untilMs = readLimitEnd(text, nowMs);
  return [{ kind: 'limit', reason: sign.reason, ...(untilMs === undefined ? {} : { untilMs }), asserted: false }];
}

/** The window of a subscription as Claude Code tells it, itself or through its ACP adapter, whenever it changes. */
export function readLimitWindow(info: unknown): Limit[] {
  if (!isRecord(info) || info.status !== 'rejected' || info.isUsingOverage === true) return [];
  const resetsAt = numberOf(info.resetsAt);
  const end = resetsAt === undefined ? {} : { untilMs: resetsAt * 1000 };
  return [{ kind: 'limit', reason: 'usage', asserted: true, ...end }];
}

/** How much of its plan's window is used, where the agent says so: as a share, or in per cent as some versions do. */
export function readPlanWindow(info: unknown): DriverEvent[] {
  if (!isRecord(info)) return [];
  const used = numberOf(info.utilization);
  if (used === undefined || !(used >= 0) || used > 1_000) return [];
  const resetsAt = numberOf(info.resetsAt);
  return [
    {
      kind: 'plan-window',
      name: textOf(info.rateLimitType) ?? 'window',
      share: Math.min(1, used > 1 ? used / 100 : used),
      ...(resetsAt === undefined ? {} : { resetsAtMs: resetsAt * 1000 }),
    },
  ];
}
