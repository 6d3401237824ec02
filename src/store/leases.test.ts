import { expect, it } from 'vitest';

import { systemActor } from '../kernel/index.ts';
import { acquireLease, checkFence, type LeaseSubject, releaseLease, renewLease } from './leases.ts';
import { readEvents } from './read-events.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

const subject: LeaseSubject = { resourceType: 'task', resourceId: 't1', slot: 'dispatcher' };
const actor = systemActor('test');
const ttlMs = 90_000;

const acquire = (store: Store, holder: string, ttl: number | null = ttlMs) =>
  store.tx((tx) => acquireLease(tx, subject, { holder, ttlMs: ttl, actor }));

eachStore((dialect, open) => {
  it('gives a slot to one of twenty that race, and names the holder to the others', async () => {
    const { store, reopen } = await open();
    const nodes = dialect === 'postgres' ? [store, await reopen()] : [store];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_value, index) => acquire(nodes[index % nodes.length] as Store, `s${index}`)),
    );
    const won = answers.filter((answer) => answer.ok);
    expect(won).toHaveLength(1);
    const winner = won[0]?.ok ? won[0].value : undefined;
    expect(winner?.fence).toBe(1);
    for (const answer of answers) {
      if (!answer.ok) expect(answer.refusal).toMatchObject({ kind: 'held', facts: { holder: winner?.holder } });
    }
    await store.settled();
    expect((await readEvents(store)).map((row) => row.kind)).toEqual(['lease.acquired']);
  });

  it('expires when now ≥ last activity + TTL: a millisecond earlier it is held, then the fence grows (ledger decision 23)', async () => {
    const { store, clock } = await open();
    const first = await acquire(store, 'a');
    clock.advance(ttlMs - 1);
    expect(await acquire(store, 'b')).toMatchObject({ ok: false, refusal: { code: 'lease_held' } });
    clock.advance(1);
    expect(await acquire(store, 'b')).toMatchObject({ ok: true, value: { holder: 'b', fence: 2 } });
    const fence = first.ok ? first.value.fence : 0;
    expect(await store.tx((tx) => checkFence(tx, subject, fence))).toMatchObject({
      ok: false,
      refusal: { code: 'lease_lost', facts: { holder: 'b' } },
    });
    await store.settled();
    const kinds = (await readEvents(store)).map((row) => [row.kind, JSON.parse(row.facts).reason]);
    expect(kinds).toEqual([
      ['lease.acquired', undefined],
      ['lease.released', 'expired'],
      ['lease.acquired', undefined],
    ]);
  });

  it('lives on while it is renewed, and cannot be renewed once it has expired (ledger case 18)', async () => {
    const { store, clock } = await open();
    await acquire(store, 'a');
    for (let beat = 0; beat < 5; beat++) {
      clock.advance(ttlMs - 1);
      expect(await store.tx((tx) => renewLease(tx, subject, 1))).toMatchObject({ ok: true });
    }
    clock.advance(ttlMs);
    expect(await store.tx((tx) => renewLease(tx, subject, 1))).toMatchObject({
      ok: false,
      refusal: { code: 'lease_lost' },
    });
  });

  it('is not shortened by a clock that is set back, and follows it at the next renewal', async () => {
    const { store, clock } = await open();
    await acquire(store, 'a');
    clock.advance(-3_600_000);
    expect(await acquire(store, 'b')).toMatchObject({ ok: false });
    await store.tx((tx) => renewLease(tx, subject, 1));
    clock.advance(ttlMs);
    expect(await acquire(store, 'b')).toMatchObject({ ok: true, value: { fence: 2 } });
  });

  it('stays with its holder who asks again, under the same fence', async () => {
    const { store } = await open();
    await acquire(store, 'a');
    expect(await acquire(store, 'a')).toMatchObject({ ok: true, value: { fence: 1 } });
  });

  it('never expires by time without a TTL', async () => {
    const { store, clock } = await open();
    await acquire(store, 'a', null);
    clock.advance(365 * 24 * 3_600_000);
    expect(await acquire(store, 'b', null)).toMatchObject({ ok: false });
  });

  it('is released once, by its own fence only, and keeps the history', async () => {
    const { store } = await open();
    await acquire(store, 'a');
    const release = (fence?: number): Promise<boolean> =>
      store.tx((tx) => releaseLease(tx, subject, { reason: 'done', actor, ...(fence ? { fence } : {}) }));
    expect(await release(7)).toBe(false);
    expect(await release(1)).toBe(true);
    expect(await release()).toBe(false);
    expect(await acquire(store, 'b')).toMatchObject({ ok: true, value: { fence: 2 } });
    const rows = await store.read.selectFrom('lease').select(['holder', 'fence', 'reason']).orderBy('fence').execute();
    expect(rows).toEqual([
      { holder: 'a', fence: 1, reason: 'done' },
      { holder: 'b', fence: 2, reason: null },
    ]);
  });
});
