import { expect, it, onTestFinished } from 'vitest';

import { Fault, type ManualClock } from '../kernel/index.ts';
import { reviveEffect } from './effect-store.ts';
import { enqueueEffect } from './effects.ts';
import { readEvents } from './read-events.ts';
import { type EffectHandler, type EffectKind, type EffectsOptions, startEffects } from './run-effects.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

const enqueue = (store: Store, key: string, kind = 'mail', notBefore?: number): Promise<void> =>
  store.tx((tx) => enqueueEffect(tx, { key, kind, payload: { to: key }, ...(notBefore ? { notBefore } : {}) }));

function start(store: Store, handlers: Record<string, EffectHandler | EffectKind>, options: EffectsOptions = {}) {
  const executor = startEffects(store, handlers, options);
  onTestFinished(() => executor.stop(0));
  return executor;
}

const effectRow = (store: Store) => store.read.selectFrom('effect').selectAll().executeTakeFirstOrThrow();

eachStore((dialect, open) => {
  it('does an effect after its transaction, with key and payload, and once', async () => {
    const { store } = await open();
    const tries: unknown[] = [];
    const executor = start(store, {
      mail: async ({ key, payload, attempt }) => void tries.push([key, payload, attempt]),
    });
    await enqueue(store, 'k1');
    await enqueue(store, 'k1');
    await executor.settle();
    expect(tries).toEqual([['k1', { to: 'k1' }, 1]]);
    expect(await effectRow(store)).toMatchObject({ state: 'done', attempts: 1, claimed_by: null });
  });

  it('is woken by the transaction that enqueues', async () => {
    const { store } = await open();
    const done = new Promise<string>((resolve) => {
      start(store, { mail: async ({ key }) => resolve(key) }, { pollMs: 60_000 });
    });
    await enqueue(store, 'k1');
    expect(await done).toBe('k1');
  });

  it('waits until it may be tried, and leaves effects without a handler alone', async () => {
    const { store, clock } = await open();
    const keys: string[] = [];
    const executor = start(store, { mail: async ({ key }) => void keys.push(key) });
    await enqueue(store, 'later', 'mail', clock.now() + 1000);
    await enqueue(store, 'other', 'unknown');
    await executor.settle();
    expect(keys).toEqual([]);
    clock.advance(1000);
    await executor.settle();
    expect(keys).toEqual(['later']);
  });

  it('tries again after 1, 2, 4 … 60 s, and after the last try asks a human', async () => {
    const { store, clock } = await open();
    const at: number[] = [];
    const begin = clock.now();
    const executor = start(store, {
      mail: async () => {
        at.push((clock.now() - begin) / 1000);
        throw new Error('down\u202E');
      },
    });
    await enqueue(store, 'k1');
    await runUntilIdle(executor, clock, 200);
    expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 123]);
    const row = await effectRow(store);
    expect(row).toMatchObject({ state: 'dead', attempts: 8, last_error: 'down\\u{202e}' });
    const decision = await store.read.selectFrom('decision_request').selectAll().executeTakeFirstOrThrow();
    expect(decision).toMatchObject({ kind: 'dead_letter', subject_id: row.id, state: 'open' });
    await store.settled();
    expect((await readEvents(store)).map((event) => event.kind)).toEqual(['effect.dead', 'decision.opened']);
  });

  it('gives a dead effect another life when a human says so', async () => {
    const { store } = await open();
    let works = false;
    const executor = start(
      store,
      {
        mail: async () => {
          if (!works) throw new Error('down');
        },
      },
      { maxAttempts: 1 },
    );
    await enqueue(store, 'k1');
    await executor.settle();
    const { id } = await effectRow(store);
    works = true;
    expect(await store.tx((tx) => reviveEffect(tx, id))).toMatchObject({ ok: true });
    expect(await store.tx((tx) => reviveEffect(tx, id))).toMatchObject({ ok: false });
    await executor.settle();
    expect(await effectRow(store)).toMatchObject({ state: 'done', attempts: 1 });
  });

  it('gives up at once on a fault that is final', async () => {
    const { store } = await open();
    const executor = start(store, {
      mail: async () => {
        throw new Fault('gone', 'The receiver is gone.');
      },
    });
    await enqueue(store, 'k1');
    await executor.settle();
    expect(await effectRow(store)).toMatchObject({ state: 'dead', attempts: 1 });
  });

  it('counts a try before it starts: one that kills the server each time is bounded', async () => {
    const { store, clock } = await open();
    await enqueue(store, 'k1');
    for (let life = 1; life <= 3; life++) {
      await killedDuringTry(store);
      expect(await effectRow(store)).toMatchObject({ state: 'pending', attempts: life });
      clock.advance(120_000);
    }
    const executor = start(store, { mail: async () => expect.unreachable('tried a fourth time') }, { maxAttempts: 3 });
    await executor.settle();
    expect(await effectRow(store)).toMatchObject({ state: 'dead', attempts: 3 });
  });

  it('does not let two executors try the same effect at once', async () => {
    const { store, reopen } = await open();
    const other = dialect === 'postgres' ? await reopen() : store;
    const counts = new Map<string, number>();
    const handler: EffectHandler = async ({ key }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const first = start(store, { mail: { run: handler, concurrency: 3 } });
    const second = dialect === 'postgres' ? start(other, { mail: { run: handler, concurrency: 3 } }) : first;
    await Promise.all(Array.from({ length: 30 }, (_value, index) => enqueue(store, `k${index}`)));
    await Promise.all([first.settle(), second.settle()]);
    await first.settle();
    expect([...counts.values()]).toEqual(Array.from({ length: 30 }, () => 1));
  });

  it('tries at most as many of a kind at a time as it may', async () => {
    const { store } = await open();
    let now = 0;
    let most = 0;
    for (let index = 0; index < 9; index++) await enqueue(store, `k${index}`);
    const executor = start(store, {
      mail: {
        concurrency: 2,
        run: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise((resolve) => setImmediate(resolve));
          now -= 1;
        },
      },
    });
    await executor.settle();
    expect(most).toBe(2);
    const rows = await store.read.selectFrom('effect').select('state').execute();
    expect(rows.every((row) => row.state === 'done')).toBe(true);
  });

  it('tries nothing while the instance is halted', async () => {
    const { store } = await open();
    let halted = true;
    const keys: string[] = [];
    const executor = start(store, { mail: async ({ key }) => void keys.push(key) }, { mayTry: async () => !halted });
    await enqueue(store, 'k1');
    await executor.settle();
    expect(keys).toEqual([]);
    halted = false;
    await executor.settle();
    expect(keys).toEqual(['k1']);
  });

  it('stops in order: the running try is finished, nothing new is started', async () => {
    const { store } = await open();
    await enqueue(store, 'k1');
    await enqueue(store, 'k2');
    let finish = (): void => {};
    let enter = (): void => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const run = (): Promise<void> => {
      enter();
      return new Promise((resolve) => (finish = resolve));
    };
    const executor = start(store, { mail: { concurrency: 1, run } });
    await entered;
    const stopped = executor.stop();
    finish();
    await stopped;
    const rows = await store.read.selectFrom('effect').select(['key', 'state']).orderBy('key').execute();
    expect(rows).toEqual([
      { key: 'k1', state: 'done' },
      { key: 'k2', state: 'pending' },
    ]);
  });

  it('tells a try that the server stops, and lets it be tried again at once later', async () => {
    const { store } = await open();
    await enqueue(store, 'k1');
    let enter = (): void => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const executor = start(store, {
      mail: ({ signal }) => {
        enter();
        return new Promise((_done, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    await entered;
    await executor.stop(0);
    const row = await effectRow(store);
    expect(row).toMatchObject({ state: 'pending', claimed_by: null });
    expect(row.not_before).toBeLessThanOrEqual(store.clock.now());
  });
});

/** Claims the effect as an executor does, and leaves it as `kill -9` in the middle of the try would. */
async function killedDuringTry(store: Store): Promise<void> {
  await new Promise<void>((resolve) => {
    startEffects(store, { mail: () => new Promise(() => resolve()) });
  });
}

/** Moves the clock second by second, doing what is due. */
async function runUntilIdle(executor: { settle(): Promise<void> }, clock: ManualClock, seconds: number): Promise<void> {
  await executor.settle();
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await executor.settle();
  }
}
