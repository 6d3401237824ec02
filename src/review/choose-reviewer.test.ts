import { expect, it } from 'vitest';

import {
  chooseReviewer,
  qualifies,
  type ReviewerCandidate,
  type ReviewerQuestion,
  reviewerDemand,
  topologyOf,
} from './choose-reviewer.ts';

const reviewer = (agent: string, family: string, extra: Partial<ReviewerCandidate> = {}): ReviewerCandidate => ({
  agent,
  family,
  isIdle: true,
  lastUsedAt: null,
  ...extra,
});
const turing = { kind: 'agent', contributor: 'turing', family: 'claude' } as const;
const question = (extra: Partial<ReviewerQuestion>): ReviewerQuestion => ({
  contributors: [turing],
  topology: 'dual',
  reviewers: [],
  verdictFamilies: [],
  failedAttempts: {},
  ...extra,
});

it('A2: the topology follows the configuration; unknown families do not make two sides', () => {
  expect(topologyOf([{ family: 'claude' }, { family: 'codex' }])).toBe('dual');
  expect(topologyOf([{ family: 'claude' }, { family: 'unknown' }, { family: 'claude' }])).toBe('single');
  expect(topologyOf([])).toBe('single');
});

it('R-9, R-12, P1: opposite to all who contributed, never one of them, unknown never', () => {
  const contributors = [
    turing,
    { kind: 'agent', contributor: 'grace', family: 'gemini' },
    { kind: 'operator', contributor: 'olga', family: 'human' },
  ] as const;
  const may = (agent: string, family: string): boolean => qualifies({ agent, family }, contributors, 'dual');
  expect(may('mitnick', 'codex')).toBe(true);
  expect(may('ada', 'claude')).toBe(false);
  expect(may('linus', 'gemini')).toBe(false);
  expect(may('router', 'unknown')).toBe(false);
  expect(may('turing', 'codex')).toBe(false);
  expect(qualifies({ agent: 'ada', family: 'claude' }, contributors, 'single')).toBe(true);
  expect(qualifies({ agent: 'turing', family: 'claude' }, contributors, 'single')).toBe(false);
});

it('chooses the idle one that was used longest ago', () => {
  const reviewers = [
    reviewer('a-codex', 'codex', { lastUsedAt: 5 }),
    reviewer('b-codex', 'codex', { lastUsedAt: 2 }),
    reviewer('c-codex', 'codex', { isIdle: false }),
    reviewer('d-codex', 'codex', { isLimited: true }),
    reviewer('e-claude', 'claude'),
  ];
  expect(chooseReviewer(question({ reviewers }))).toMatchObject({ kind: 'chosen', reviewer: { agent: 'b-codex' } });
  expect(chooseReviewer(question({ reviewers: [...reviewers, reviewer('f-codex', 'codex')] }))).toMatchObject({
    reviewer: { agent: 'f-codex' },
  });
});

it('scenario 8: with two sides and only the same family idle nobody is sent, and the demand is one opposite', () => {
  const reviewers = [reviewer('ada', 'claude'), reviewer('mitnick', 'codex', { isIdle: false })];
  expect(chooseReviewer(question({ reviewers }))).toEqual({ kind: 'wait', families: ['codex'] });
  expect(reviewerDemand([question({ reviewers })], { starting: {}, maxReviewers: 2 })).toEqual({ codex: 1 });
  expect(reviewerDemand([question({ reviewers })], { starting: { codex: 1 }, maxReviewers: 2 })).toEqual({});
  expect(chooseReviewer(question({ reviewers: [reviewer('ada', 'claude')] }))).toEqual({
    kind: 'nobody',
    reason: 'none_qualifies',
  });
});

it('R-10: demand counts what waits, not what an idle reviewer will take, at most the limit', () => {
  const idle = [reviewer('mitnick', 'codex')];
  const busy = [reviewer('mitnick', 'codex', { isIdle: false })];
  expect(reviewerDemand([question({ reviewers: idle })], { starting: {}, maxReviewers: 2 })).toEqual({});
  expect(
    reviewerDemand([question({ reviewers: idle }), question({ reviewers: idle })], { starting: {}, maxReviewers: 2 }),
  ).toEqual({ codex: 1 });
  expect(
    reviewerDemand(
      [1, 2, 3, 4].map(() => question({ reviewers: busy })),
      { starting: {}, maxReviewers: 2 },
    ),
  ).toEqual({ codex: 2 });
});

it('scenario 11: a family gives one verdict on a head, and two lost claims are enough', () => {
  const reviewers = [reviewer('mitnick', 'codex'), reviewer('grace', 'gemini', { lastUsedAt: 9 })];
  expect(chooseReviewer(question({ reviewers, verdictFamilies: ['codex'] }))).toMatchObject({
    reviewer: { agent: 'grace' },
  });
  expect(chooseReviewer(question({ reviewers, failedAttempts: { mitnick: 1 } }))).toMatchObject({
    reviewer: { agent: 'grace' },
  });
  expect(chooseReviewer(question({ reviewers, failedAttempts: { mitnick: 2 } }))).toMatchObject({
    reviewer: { agent: 'grace' },
  });
  expect(chooseReviewer(question({ reviewers, failedAttempts: { mitnick: 2, grace: 2 } }))).toEqual({
    kind: 'nobody',
    reason: 'attempts_used_up',
  });
  expect(chooseReviewer(question({ reviewers, verdictFamilies: ['codex', 'gemini'] }))).toEqual({
    kind: 'nobody',
    reason: 'none_qualifies',
  });
});
