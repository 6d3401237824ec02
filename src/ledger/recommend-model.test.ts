import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { estimateTokens } from './estimate-tokens.ts';
import { recommendModel } from './recommend-model.ts';

describe('the recommended model (L-35)', () => {
  it.each([
    { tokensEstimated: 1499, expected: 'light' },
    { tokensEstimated: 1500, expected: 'medium' },
    { tokensEstimated: 7999, expected: 'medium' },
    { tokensEstimated: 8000, expected: 'high' },
    { tokensEstimated: null, expected: 'high' },
  ])('is $expected at an estimate of $tokensEstimated (LT-17)', ({ tokensEstimated, expected }) => {
    expect(recommendModel({ priority: 'P2', tokensEstimated, attempts: 0 })).toBe(expected);
    expect(recommendModel({ priority: 'P1', tokensEstimated, attempts: 1 })).toBe(expected);
  });

  it('is high for P0 and after two failed tries, whatever the estimate (LT-17)', () => {
    expect(recommendModel({ priority: 'P0', tokensEstimated: 10, attempts: 0 })).toBe('high');
    expect(recommendModel({ priority: 'P3', tokensEstimated: 10, attempts: 2 })).toBe('high');
  });
});

describe('the token estimate (L-34)', () => {
  it('is what its description says', () => {
    expect(estimateTokens({ title: '' })).toBe(600);
    expect(estimateTokens({ title: 'abcd' })).toBe(650);
    expect(estimateTokens({ title: 'x'.repeat(400) })).toBe(1800);
    expect(estimateTokens({ title: '', isVisual: true })).toBe(2100);
    expect(estimateTokens({ title: '', durationMinutes: 60 })).toBe(7200);
  });

  it('is the same for the same task, grows with the text and is bounded', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ maxLength: 5000 }), (title, more) => {
        const small = estimateTokens({ title });
        expect(estimateTokens({ title })).toBe(small);
        const large = estimateTokens({ title, description: more });
        expect(large).toBeGreaterThanOrEqual(small);
        expect(large % 50).toBe(0);
        expect(large).toBeLessThanOrEqual(200_000);
      }),
    );
  });
});
