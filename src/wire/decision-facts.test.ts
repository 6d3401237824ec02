import { expect, it } from 'vitest';

import { decisionFacts } from './decision-facts.ts';

it('shows the detail of a decision in words, nested values as blocks, without what only programs need', () => {
  const failures = [
    { session: 'x', agent: 'turing', reason: 'exited', errors: 'cannot\nfind it\n' },
    { session: 'y', agent: 'turing', reason: 'exited', errors: '' },
  ];
  const detail = {
    attempts: 3,
    task: 'x',
    workKey: 'shop/fix',
    pull_request_id: 'x',
    hash: 'y',
    files: ['a', 'b'],
    failures,
  };
  expect(decisionFacts(detail)).toEqual([
    { name: 'attempts', text: '3' },
    { name: 'work key', text: 'shop/fix' },
    { name: 'files', text: 'a, b' },
    {
      name: 'failures',
      text: 'agent: turing\nreason: exited\nerrors:\n  cannot\n  find it\nagent: turing\nreason: exited',
    },
  ]);
});

it('takes what is no object for nothing', () => {
  expect([decisionFacts(null), decisionFacts('x'), decisionFacts({ note: null })]).toEqual([[], [], []]);
});
