import { expect, it } from 'vitest';

import { ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import { idempotencyTtlMs, type Keyed, type KeyedRequest, onceForKey, purgeExpiredKeys } from './idempotency.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

type Answer = { id: string; n: number };

const request: KeyedRequest = { scope: 'operator', key: 'k-1', command: 'thing.create', payload: { a: 1, b: [2] } };

/** A use case with one visible effect: an event. */
function create(store: Store, by: string, keyed: KeyedRequest = request): Promise<Result<Keyed<Answer>>> {
  return store.tx((tx) =>
    onceForKey<Answer>(tx, keyed, async () => {
      await tx.emit({ kind: 'server.started', actor: systemActor('test'), subject: { kind: 'server', id: by } });
      return ok({ id: by, n: 1 });
    }),
  );
}

async function effects(store: Store): Promise<number> {
  await store.settled();
  return (await store.read.selectFrom('event').select('id').execute()).length;
}

eachStore((dialect, open) => {
  it('runs once for its key and replays the same answer (S-19, S-20)', async () => {
    const { store } = await open();
    expect(await create(store, 'first')).toEqual({
      ok: true,
      value: { value: { id: 'first', n: 1 }, replayed: false },
    });
    const again = await create(store, 'second', { ...request, payload: { b: [2], a: 1 } });
    expect(again).toEqual({ ok: true, value: { value: { id: 'first', n: 1 }, replayed: true } });
    expect(await effects(store)).toBe(1);
  });

  it('lets one of many clients with the same key at once have the effect, the others its answer', async () => {
    const { store, reopen } = await open();
    const nodes = dialect === 'postgres' ? [store, await reopen()] : [store];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_value, index) => create(nodes[index % nodes.length] as Store, `c${index}`)),
    );
    const values = answers.map((answer) => (answer.ok ? answer.value : undefined));
    expect(values.filter((value) => value?.replayed === false)).toHaveLength(1);
    expect(new Set(values.map((value) => value?.value.id)).size).toBe(1);
    expect(await effects(store)).toBe(1);
  });

  it('refuses a key that was used with other arguments or for another command (ERR-09)', async () => {
    const { store } = await open();
    await create(store, 'first');
    for (const other of [{ payload: { a: 2 } }, { command: 'thing.delete' }]) {
      expect(await create(store, 'x', { ...request, ...other })).toMatchObject({
        ok: false,
        refusal: {
          kind: 'idempotency-conflict',
          message: 'Rejected: idempotency conflict (key k-1, different payload)',
        },
      });
    }
    expect(await effects(store)).toBe(1);
  });

  it('keeps the keys of different principals apart', async () => {
    const { store } = await open();
    await create(store, 'first');
    expect(await create(store, 'second', { ...request, scope: 'session:1' })).toMatchObject({
      value: { replayed: false },
    });
  });

  it('refuses a malformed key (S-26)', async () => {
    const { store } = await open();
    for (const key of ['', 'with blank', 'x'.repeat(129), 'é']) {
      expect(await create(store, 'x', { ...request, key })).toMatchObject({ ok: false, refusal: { kind: 'invalid' } });
    }
  });

  it('leaves no record of a refusal: the same key may succeed later (S-22)', async () => {
    const { store } = await open();
    const refused = await store.tx((tx) =>
      onceForKey<Answer>(tx, request, async () => refuse('quota', 'full', 'Full.')),
    );
    expect(refused).toMatchObject({ ok: false });
    expect(await create(store, 'later')).toMatchObject({ value: { replayed: false } });
  });

  it('forgets a key after 24 h, and not a millisecond earlier (S-7, S-25)', async () => {
    const { store, clock } = await open();
    await create(store, 'first');
    clock.advance(idempotencyTtlMs - 1);
    expect(await create(store, 'second')).toMatchObject({ value: { replayed: true } });
    expect(await store.tx((tx) => purgeExpiredKeys(tx))).toBe(0);
    clock.advance(1);
    expect(await create(store, 'third')).toMatchObject({ value: { replayed: false, value: { id: 'third' } } });
    clock.advance(idempotencyTtlMs);
    expect(await store.tx((tx) => purgeExpiredKeys(tx))).toBe(1);
  });
});
