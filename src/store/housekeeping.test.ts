import { expect, it, onTestFinished } from 'vitest';

import { ok, systemActor } from '../kernel/index.ts';
import { enqueueEffect } from './effects.ts';
import { startHousekeeping } from './housekeeping.ts';
import { idempotencyTtlMs, onceForKey } from './idempotency.ts';
import { acquireLease, releaseLease } from './leases.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

const dayMs = 86_400_000;

async function takeAndRelease(store: Store, resourceType: string): Promise<number> {
  const subject = { resourceType, resourceId: 'x', slot: 'all' };
  const actor = systemActor('t');
  return store.tx(async (tx) => {
    const lease = await acquireLease(tx, subject, { holder: 'h', ttlMs: 1000, actor, quiet: true });
    await releaseLease(tx, subject, { reason: 'done', actor, quiet: true });
    return lease.ok ? lease.value.fence : 0;
  });
}

eachStore((_dialect, open) => {
  const setup = async () => {
    const { store, clock } = await open();
    const housekeeping = startHousekeeping(store);
    onTestFinished(() => housekeeping.stop());
    return { store, clock, housekeeping };
  };

  it('removes expired keys, and nothing before its time (S-25)', async () => {
    const { store, clock, housekeeping } = await setup();
    await store.tx((tx) => onceForKey(tx, { scope: 's', key: 'k', command: 'c', payload: {} }, async () => ok(1)));
    clock.advance(idempotencyTtlMs - 1);
    expect(await housekeeping.clean()).toBe(0);
    clock.advance(1);
    expect(await housekeeping.clean()).toBe(1);
  });

  it('removes effects done 30 days ago, and never one that is not done', async () => {
    const { store, clock, housekeeping } = await setup();
    for (const key of ['done', 'pending']) await store.tx((tx) => enqueueEffect(tx, { key, kind: 'x', payload: {} }));
    await store.tx((tx) =>
      tx.db.updateTable('effect').set({ state: 'done', done_at: tx.now }).where('key', '=', 'done').execute(),
    );
    clock.advance(30 * dayMs);
    expect(await housekeeping.clean()).toBe(0);
    clock.advance(1);
    expect(await housekeeping.clean()).toBe(1);
    expect(await store.read.selectFrom('effect').select('key').execute()).toEqual([{ key: 'pending' }]);
  });

  it('removes old leases of background loops without losing count of the fence; those of the work stay', async () => {
    const { store, clock, housekeeping } = await setup();
    for (const type of ['runner', 'runner', 'runner', 'task', 'task']) await takeAndRelease(store, type);
    clock.advance(2 * dayMs);
    expect(await housekeeping.clean()).toBe(2);
    expect(await takeAndRelease(store, 'runner')).toBe(4);
    expect(await takeAndRelease(store, 'task')).toBe(3);
  });
});
