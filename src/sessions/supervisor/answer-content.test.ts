import { expect, it } from 'vitest';

import { answerContent } from './answer-content.ts';
import { choose } from './pump.ts';

const schema = (properties: Record<string, object>) => ({ type: 'object', properties }) as never;

it.each([
  ['a text field', schema({ rounding: { type: 'string' } }), 'half up', { rounding: 'half up' }],
  ['a choice by its title', schema({ q: { oneOf: [{ const: 'a', title: 'Left' }] } }), 'left', { q: 'a' }],
  ['a choice by its value', schema({ q: { enum: ['One', 'Two'] } }), 'two', { q: 'Two' }],
  ['a yes', schema({ ok: { type: 'boolean' } }), 'Yes', { ok: true }],
  ['a number', schema({ n: { type: 'integer' } }), '42', { n: 42 }],
  ['several choices', schema({ q: { type: 'array', items: { enum: ['a', 'b', 'c'] } } }), 'a, c', { q: ['a', 'c'] }],
  [
    'free text beside choices',
    schema({ q: { enum: ['a'] }, other: { type: 'string' } }),
    'neither',
    { other: 'neither' },
  ],
  ['an object as given', schema({ a: { type: 'string' }, b: { type: 'number' } }), '{"a":"x","b":2}', { a: 'x', b: 2 }],
  [
    'a default beside it',
    schema({ d: { type: 'boolean', default: false }, t: { type: 'string' } }),
    'x',
    { d: false, t: 'x' },
  ],
  ['no schema', undefined, 'x', { answer: 'x' }],
])('an answer fills %s', (_name, form, text, content) => {
  expect(answerContent(form, text)).toEqual({ action: 'accept', content });
});

it('chooses permissions by kind, the narrowest first; without a fitting kind cancelled, never allowed (field case 31)', () => {
  const choices = (...kinds: string[]): string => JSON.stringify(kinds);
  expect(choose({ state: 'allowed', choices: choices('allow_always', 'allow_once', 'reject_once') })).toBe(
    'allow_once',
  );
  expect(choose({ state: 'allowed', choices: choices('allow_always') })).toBe('allow_always');
  expect(choose({ state: 'rejected', choices: choices('allow_once', 'reject_always') })).toBe('reject_always');
  expect(choose({ state: 'rejected', choices: choices('allow_once') })).toBe('cancelled');
  expect(choose({ state: 'allowed', choices: choices('reject_once') })).toBe('cancelled');
  expect(choose({ state: 'cancelled', choices: choices('allow_once') })).toBe('cancelled');
});
