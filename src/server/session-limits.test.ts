import { expect, it } from 'vitest';

import type { Caller } from '../app/index.ts';
import { mustOk } from '../kernel/index.ts';
import { createSessionLimits } from './session-limits.ts';

function callerOf(actor: Caller['actor']): Caller {
  return { actor, proof: 'none', scope: actor.id, idempotencyKey: '' };
}

it('lets a session wait four times at once, gives a place back once, and counts nobody else', () => {
  const limits = createSessionLimits();
  const one = callerOf({ kind: 'session', id: 'one', generation: 1 });
  const nextGeneration = callerOf({ kind: 'session', id: 'one', generation: 2 });
  const other = callerOf({ kind: 'session', id: 'other', generation: 1 });
  const operator = callerOf({ kind: 'operator', id: 'ada', channel: 'console' });
  const places = Array.from({ length: 4 }, () => mustOk(limits.take(one, 'wait')));
  const full = { refusal: { kind: 'quota', code: 'too_many_open', facts: { retry_after_s: 1 } } };
  expect(limits.take(nextGeneration, 'wait')).toMatchObject(full);
  mustOk(limits.take(one, 'stream'));
  mustOk(limits.take(other, 'wait'));
  for (let i = 0; i < 20; i += 1) mustOk(limits.take(operator, 'wait'));
  places[0]!();
  places[0]!();
  mustOk(limits.take(one, 'wait'));
  expect(limits.take(one, 'wait')).toMatchObject(full);
});
