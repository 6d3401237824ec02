import { expect, it } from 'vitest';

import { refuse, systemActor } from '../kernel/index.ts';
import type { NewEvent } from './store.ts';
import { eachStore } from './testing.ts';

const event = (id: string): NewEvent => ({
  kind: 'server.started',
  actor: systemActor('test'),
  subject: { kind: 'server', id },
});

eachStore((dialect, open) => {
  it('keeps what a use case wrote', async () => {
    const { store } = await open();
    await store.tx((tx) => tx.emit(event('a')));
    await store.settled();
    const rows = await store.read.selectFrom('event').select(['seq', 'subject_id']).execute();
    expect(rows).toEqual([{ seq: 1, subject_id: 'a' }]);
    expect(store.dialect).toBe(dialect);
  });

  it('keeps nothing of a use case that throws or refuses', async () => {
    const { store } = await open();
    await expect(
      store.tx(async (tx) => {
        await tx.emit(event('a'));
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    const refused = await store.tx(async (tx) => {
      await tx.emit(event('b'));
      return refuse('invalid', 'x', 'x');
    });
    expect(refused.ok).toBe(false);
    await store.settled();
    expect(await store.read.selectFrom('event').selectAll().execute()).toEqual([]);
  });

  it('refuses a transaction inside another', async () => {
    const { store } = await open();
    await expect(store.tx(() => store.tx(async () => 1))).rejects.toThrow('inside another transaction');
  });
});
