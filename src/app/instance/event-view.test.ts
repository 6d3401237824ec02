import { expect, it } from 'vitest';

import { mustOk, systemActor } from '../../kernel/index.ts';
import { openTestSqlite } from '../../store/testing.ts';
import { readEventPage } from './event-view.ts';

/** A log in which two landings lie far apart. */
async function setup() {
  const { store } = await openTestSqlite();
  const emit = (kind: 'landing.landed' | 'server.started', id: string) =>
    store.tx((tx) => tx.emit({ kind, actor: systemActor('test'), subject: { kind: 'landing', id } }));
  await emit('landing.landed', 'first');
  for (let i = 0; i < 30; i += 1) await emit('server.started', 'noise');
  await emit('landing.landed', 'second');
  await emit('server.started', 'noise');
  const page = (query: object) => readEventPage(store, { after: 0, limit: 10, ...query });
  const kind = 'landing.landed';
  return { page, emit, kind };
}

it('a page of one kind is full of that kind, and says up to where nothing else fits', async () => {
  const { page, kind } = await setup();
  const whole = mustOk(await page({ kind }));
  expect(whole.items.map((event) => [event.seq, event.subject.id])).toEqual([
    [1, 'first'],
    [32, 'second'],
  ]);
  expect(whole).toMatchObject({ next: 33, head: 33 });
  const one = mustOk(await page({ kind, limit: 1 }));
  expect(one).toMatchObject({ next: 1, head: 33, items: [{ seq: 1 }] });
  expect(mustOk(await page({ kind, limit: 1, after: one.next })).items.map(({ seq }) => seq)).toEqual([32]);
});

it('the newest of a kind are found behind any number of others; who follows from `next` misses nothing', async () => {
  const { page, emit, kind } = await setup();
  const newest = mustOk(await page({ kind, newest: true, limit: 1 }));
  expect(newest.items.map(({ seq }) => seq)).toEqual([32]);
  await emit('landing.landed', 'third');
  expect(mustOk(await page({ kind, after: newest.next })).items.map((event) => event.subject.id)).toEqual(['third']);
});

it('an unknown kind is refused instead of being waited for', async () => {
  const { page } = await setup();
  for (const kind of ['landing.lnaded', '__proto__', 'toString'])
    expect(await page({ kind })).toMatchObject({ ok: false, refusal: { code: 'unknown_event_kind' } });
});
