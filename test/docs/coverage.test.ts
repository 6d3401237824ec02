import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { buildCoverage, quotedNumbers, renderCoverage } from './coverage-map.ts';

test('every number of the specification has a test, a reason or an open issue', () => {
  expect(buildCoverage().faults).toEqual([]);
});

test('docs/coverage.md is what the tests say (run `npm run docs`)', () => {
  expect(readFileSync('docs/coverage.md', 'utf8')).toBe(renderCoverage(buildCoverage().rows));
});

test('numbers are read out of titles, ranges included', () => {
  expect(quotedNumbers('refuses a cycle (L-28, S-9..S-11; TC-NEG-01; gate attacks 2, 15)')).toEqual([
    'L-28',
    'S-9',
    'S-10',
    'S-11',
    'TC-NEG-01',
    'gate attack 2',
    'gate attack 15',
  ]);
  expect(quotedNumbers('keeps both (field cases 1 and 2, decisions 16 to 18)', 'ledger')).toEqual([
    'ledger case 1',
    'ledger case 2',
    'ledger decision 16',
    'ledger decision 17',
    'ledger decision 18',
  ]);
  expect(quotedNumbers('is decided by nobody (decision 3)')).toEqual([]);
});
