import { expect, it } from 'vitest';

import { systemActor } from '../../kernel/index.ts';
import { openTestSqlite } from '../../store/testing.ts';
import { sessionWorld, switchedBroker } from '../testing.ts';
import type { AttachedSessions } from './attached.ts';
import { findGaps, reportGaps, standingGaps } from './reconcile-peers.ts';
import { watchBroker } from './watch-broker.ts';

const actor = systemActor('test');

it('TC-ERR-06, TC-ERR-10: degraded is said, tries come after 1, 2, 4, 8, 10, 10 s, recovery is followed by a reconciliation (S-49 to S-52)', async () => {
  const { store } = await openTestSqlite();
  const world = sessionWorld(store);
  const broker = switchedBroker(store);
  const waits: number[] = [];
  const { promise: recovered, resolve: onRecovered } = Promise.withResolvers<void>();
  let time = 0;
  const watch = watchBroker(store, broker, {
    actor,
    onRecovered,
    onFault: (error) => expect.unreachable(String(error)),
    now: () => time,
    async wait(ms) {
      waits.push(ms);
      time += ms;
      if (waits.length === 7) broker.isUp = true;
    },
  });
  await watch.check();
  expect(watch.isUp()).toBe(true);
  broker.isUp = false;
  await watch.check();
  await recovered;
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
  expect(watch.isUp()).toBe(true);
  const said = await world.events();
  expect(said.map((event) => event.kind)).toEqual(['broker.degraded', 'broker.recovered']);
  expect(said[1]?.facts).toEqual({ attempts: 7, outage_ms: 45_000 });
});

it('TC-NOM-07: what is held and what is stored are compared, every difference is logged, ended sessions are left out (S-42, S-46)', async () => {
  const { store } = await openTestSqlite();
  const world = sessionWorld(store);
  const a = await world.running('PD-1');
  const b = await world.running('PD-2');
  const ended = await world.running('PD-3');
  await world.must('stop', { workKey: 'PD-3' });
  const held: AttachedSessions = new Map();
  const hold = (id: string, generation: number): void =>
    void held.set(id, { sessionId: id, generation, profile: {} as never, link: {} as never, freer: {} as never });
  hold(a.sessionId, 1);
  hold('unknown', 1);
  const rows = await store.read.selectFrom('session').selectAll().execute();
  const gaps = findGaps(rows, held);
  expect(gaps).toEqual([
    { sessionId: 'unknown', difference: 'held_without_session' },
    { sessionId: b.sessionId, difference: 'session_without_peer' },
  ]);
  expect(gaps.some((gap) => gap.sessionId === ended.sessionId)).toBe(false);
  await reportGaps(store, gaps);
  expect(await world.events('reconciliation.gap')).toHaveLength(2);
});

it('a difference is one only when a second look finds it too: what moved between reading and comparing is none (S-46)', async () => {
  const { store } = await openTestSqlite();
  const world = sessionWorld(store);
  const a = await world.running('PD-1');
  const rows = await store.read.selectFrom('session').selectAll().execute();
  const ended = rows.map((row) => ({ ...row, process: 'ended' as const }));
  const held: AttachedSessions = new Map([
    [
      a.sessionId,
      { sessionId: a.sessionId, generation: 1, profile: {} as never, link: {} as never, freer: {} as never },
    ],
  ]);
  /** Rows as one look after another finds them. */
  const looks = (...each: (typeof rows)[]) => {
    let n = 0;
    return async () => each[Math.min(n++, each.length - 1)] ?? [];
  };
  expect(await standingGaps(looks([], rows), held)).toEqual([]);
  expect(await standingGaps(looks(ended, rows), held)).toEqual([]);
  expect(await standingGaps(looks(ended), held)).toEqual([
    { sessionId: a.sessionId, difference: 'held_without_session' },
  ]);
});
