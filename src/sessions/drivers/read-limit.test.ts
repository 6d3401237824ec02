import { describe, expect, it } from 'vitest';

import { readLimitEnd } from './limit-end.ts';
import { readLimit } from './read-limit.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const at = (text: string): string | undefined => {
  const end = readLimitEnd(text, now);
  return end === undefined ? undefined : new Date(end).toISOString();
};

describe('the end of a limit (design 7)', () => {
  it.each([
    ['You have reached your usage limit; try again in 90 s', '2026-11-30T12:01:30.000Z'],
    ['Please try again in 20s. Visit the page', '2026-11-30T12:00:20.000Z'],
    ['Please retry in 1.5s.', '2026-11-30T12:00:01.500Z'],
    ['Please retry in 34.074824224s.', '2026-11-30T12:00:34.075Z'],
    ['Please retry in 1h2m3.4567s', '2026-11-30T13:02:03.457Z'],
    [
      "You've hit your usage limit. Upgrade to Pro or try again in 3 days 2 hours 5 minutes.",
      '2026-12-03T14:05:00.000Z',
    ],
    ["You've hit your usage limit. Try again in 1 hour and 30 minutes.", '2026-11-30T13:30:00.000Z'],
    ['Your quota will reset after 3h25m10s.', '2026-11-30T15:25:10.000Z'],
    ['Claude AI usage limit reached|1796083200', '2026-12-01T00:00:00.000Z'],
    ['5-hour limit reached ∙ resets 3pm (UTC)', '2026-11-30T15:00:00.000Z'],
    ["You've hit your limit · resets 11am (UTC)", '2026-12-01T11:00:00.000Z'],
    ["You've hit your limit · resets 12:30am (Europe/Paris)", '2026-11-30T23:30:00.000Z'],
    ["You've hit your weekly limit · resets Dec 4 at 3pm (America/New_York)", '2026-12-04T20:00:00.000Z'],
    ["You've hit your weekly limit · resets Jan 2, 9am (Asia/Tokyo)", '2027-01-02T00:00:00.000Z'],
    ['or try again at Dec 3rd, 2026 5:12 PM (UTC).', '2026-12-03T17:12:00.000Z'],
  ])('%s', (text, end) => {
    expect(at(text)).toBe(end);
  });

  it.each([
    '429 Too Many Requests',
    'limit reached|1600000000',
    'resets whenever',
    'try again in no time',
    'resets 99pm',
  ])('is not made up: %s', (text) => expect(at(text)).toBeUndefined());

  it('without a zone is a time of this machine', () => {
    const end = readLimitEnd("You've hit your usage limit. Try again at 5:12 PM.", now);
    expect(new Date(end ?? 0).toLocaleTimeString('en-US')).toBe('5:12:00 PM');
    expect((end ?? 0) - now).toBeLessThanOrEqual(86_400_000);
  });

  it('of a hostile text is found in no time', () => {
    const started = performance.now();
    for (const piece of ['try again in 1 d ', 'resets 1', 'retry after 1s and ', 'try again at Dec 1, '])
      readLimitEnd(piece.repeat(4_000), now);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe('a limit in an error text', () => {
  it.each([
    ['Your credit balance is too low to access the Anthropic API', 'billing'],
    ['You exceeded your current quota (insufficient_quota)', 'billing'],
    ["You've hit your usage limit.", 'usage'],
    ["You've hit your limit · resets 3pm (UTC)", 'usage'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 'rate'],
    ['API Error: 529 {"type":"overloaded_error"}', 'rate'],
    ['RESOURCE_EXHAUSTED', 'rate'],
  ])('%s: %s', (message, reason) => {
    expect(readLimit({ code: -32603, message }, now)).toMatchObject([{ kind: 'limit', reason, asserted: false }]);
  });

  it.each(['ENOENT: no such file', 'line 4290 of the limits table', 'the test failed'])('%s: none', (message) => {
    expect(readLimit({ code: -32603, message }, now)).toEqual([]);
  });
});
