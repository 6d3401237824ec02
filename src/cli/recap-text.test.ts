import { expect, test } from 'vitest';

import type { RecapView } from '../wire/index.ts';
import { recapText } from './recap-text.ts';

const spending: RecapView['spending'] = {
  tokens: 28_300,
  inputTokens: 27_000,
  outputTokens: 1_300,
  cachedTokens: 9_000,
  guessedTokens: 0,
  costMicros: 1_750_000,
  currency: 'USD',
  costSources: ['reported'],
};
const at = '2026-01-01T00:00:00Z';
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

function night(landed: number, waiting: number, failed: number, running = 0): RecapView {
  return {
    since: at,
    until: at,
    landed: times(landed, (i) => ({
      landingId: `l${i}`,
      number: i,
      repository: 'app',
      title: `Change ${i}`,
      at,
      spending,
    })),
    waiting: times(waiting, (i) => ({ id: `d${i}`, kind: 'landing', title: `Land ${i}`, since: at })),
    failed: times(failed, (i) => ({ what: `app/t${i}`, state: 'CRASHED', why: 'hung', at })),
    running: times(running, (i) => ({ workKey: `app/r${i}`, agent: 'turing', state: 'RUNNING' })),
    spending,
    plans: [{ agent: 'turing', name: 'five_hour', share: 0.4, resetsAt: at }],
    next: 'Decide d0 first.',
  };
}

test('a normal night is told whole on one screen, each landing with its cost (design 7)', () => {
  const text = recapText(night(4, 3, 2, 2));
  expect(text).toBe(
    [
      'Since 2026-01-01 00:00:00Z: 4 landed, 3 waiting for you, 2 failed, 2 at work',
      'Landed:',
      ...times(4, (i) => `  #${i} Change ${i} · 28k tokens, $1.75`),
      'Waiting for you:',
      ...times(3, (i) => `  d${i} landing: Land ${i}`),
      'Failed:',
      ...times(2, (i) => `  app/t${i} CRASHED: hung`),
      'Working:',
      ...times(2, (i) => `  app/r${i} · turing · RUNNING`),
      'Used: 28k tokens, $1.75',
      `Plan of turing: 40 % of five_hour used, new at ${at}`,
      'Next: Decide d0 first.',
    ].join('\n'),
  );
});

test('however much happened it fits 24 lines of 80 characters, folded with counts (design 7)', () => {
  for (const amounts of [
    [200, 200, 200, 60],
    [0, 0, 0, 0],
    [1, 150, 0, 0],
    [30, 1, 1, 1],
  ] satisfies [number, number, number, number][]) {
    const view = night(...amounts);
    for (const one of view.waiting) one.title = `\u001B[31m${'💥 long '.repeat(60)}\n\u202Eend`;
    const lines = recapText(view).split('\n');
    expect(lines.length).toBeLessThan(24);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80);
    for (const char of ['\u001B', '\u202E']) expect(lines.join('')).not.toContain(char);
    const shown = lines.filter((line) => /^ {2}(?:#|d\d|app)/.test(line)).length;
    const folded = lines.flatMap((line) => /… and (\d+) more/.exec(line)?.[1] ?? []).map(Number);
    expect(shown + folded.reduce((sum, count) => sum + count, 0)).toBe(amounts.reduce((sum, count) => sum + count, 0));
  }
});
