import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { operatingPhase } from './phase.ts';

it('G-23, decision 10: the phase is 1 unless set, and the environment can only lower it', () => {
  expect(mustOk(operatingPhase(undefined))).toBe(1);
  expect(mustOk(operatingPhase(3))).toBe(3);
  expect(mustOk(operatingPhase(3, '1'))).toBe(1);
  expect(mustOk(operatingPhase(2, '4'))).toBe(2);
  expect(mustOk(operatingPhase('4', ''))).toBe(4);
});

it('G-27: an invalid value is refused, never read as something more permissive', () => {
  for (const value of [0, 5, '3 ', 'all', 2.5, true]) {
    expect(operatingPhase(value)).toMatchObject({ refusal: { code: 'invalid_phase' } });
  }
  expect(operatingPhase(3, '9')).toMatchObject({ refusal: { code: 'invalid_phase' } });
});
