import { expect, it } from 'vitest';

import { eventsTopic, openSqlite } from '../store/index.ts';
import { openTestSqlite } from '../store/testing.ts';
import { sessionWorld } from './testing.ts';

it('TC-NOM-04: 100 escalations reach a listener with P95 ≤ 5 s between their times (S-36)', async () => {
  const { location } = await openTestSqlite();
  const store = await openSqlite(location);
  const world = sessionWorld(store, { settings: { maxActive: 100 } });
  const holders = await Promise.all(Array.from({ length: 20 }, (_, index) => world.running(`PD-${index + 1}`)));
  const received = new Map<string, number>();
  let after = 0;
  const look = async (): Promise<void> => {
    const rows = await store.read
      .selectFrom('event')
      .select(['seq', 'subject_id', 'kind'])
      .where('seq', '>', after)
      .orderBy('seq')
      .execute();
    for (const row of rows) {
      after = Math.max(after, row.seq ?? 0);
      if (row.kind === 'escalation.opened' && !received.has(row.subject_id)) received.set(row.subject_id, Date.now());
    }
  };
  const off = store.onWake(eventsTopic, () => void look());
  for (let n = 0; n < 100; n += 1) await world.ask(holders[n % 20] ?? holders[0]!, `question ${n}?`);
  await expect.poll(async () => (await look(), received.size)).toBe(100);
  off();
  const emitted = await store.read.selectFrom('escalation').select(['id', 'created_at']).execute();
  const delays = emitted.map((row) => (received.get(row.id) ?? Infinity) - row.created_at).toSorted((a, b) => a - b);
  expect(delays[94]).toBeLessThanOrEqual(5_000);
  await store.close();
});
