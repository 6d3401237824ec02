import { expect, it, onTestFinished, vi } from 'vitest';

import {
  done,
  failed,
  gaveUp,
  lookAgainIn,
  type PassOutcome,
  type ReconcilerOptions,
  startReconciler,
} from './reconciler.ts';
import { readEvents } from './read-events.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

function start(store: Store, options: Partial<ReconcilerOptions> & Pick<ReconcilerOptions, 'pass'>) {
  const reconciler = startReconciler(store, { name: 'things', list: async () => [], everyMs: 60_000, ...options });
  onTestFinished(() => reconciler.stop(0));
  return reconciler;
}

eachStore((dialect, open) => {
  it('runs a pass over everything that is listed, at the start', async () => {
    const { store } = await open();
    const passes: string[] = [];
    const reconciler = start(store, {
      list: async () => ['a', 'b'],
      pass: async (id) => {
        passes.push(id);
        return done;
      },
    });
    await reconciler.settle();
    expect(new Set(passes)).toEqual(new Set(['a', 'b']));
  });

  it('is woken for one id by its topic, and for all by an empty subject', async () => {
    const { store } = await open();
    const passes: string[] = [];
    let onPass = (): void => {};
    const reconciler = start(store, {
      list: async () => ['listed'],
      wakeOn: ['topic'],
      pass: async (id) => {
        passes.push(id);
        onPass();
        return done;
      },
    });
    await reconciler.settle();
    passes.length = 0;
    const next = (): Promise<void> => new Promise((resolve) => (onPass = resolve));
    let pass = next();
    await store.tx(async (tx) => tx.wake('topic', 'one'));
    await pass;
    pass = next();
    await store.tx(async (tx) => tx.wake('topic'));
    await pass;
    expect(passes).toEqual(['one', 'listed']);
  });

  it('looks again when the time has come by the clock, not earlier', async () => {
    const { store, clock } = await open();
    let passes = 0;
    const reconciler = start(store, {
      list: async () => (passes === 0 ? ['a'] : []),
      pass: async () => {
        passes += 1;
        return passes < 3 ? lookAgainIn(1000) : done;
      },
    });
    await reconciler.settle();
    clock.advance(999);
    await reconciler.settle();
    expect(passes).toBe(1);
    clock.advance(1);
    await reconciler.settle();
    expect(passes).toBe(2);
    clock.advance(1000);
    await reconciler.settle();
    clock.advance(100_000);
    await reconciler.settle();
    expect(passes).toBe(3);
  });

  it('looks anew when the clock was set back: what was planned by the old one would come late by as much', async () => {
    const { store, clock } = await open();
    const passes: number[] = [];
    const reconciler = start(store, {
      list: async () => ['a'],
      pass: async () => {
        passes.push(clock.now());
        return lookAgainIn(60_000);
      },
    });
    await reconciler.settle();
    clock.advance(-86_400_000);
    await reconciler.settle();
    await reconciler.settle();
    expect(passes).toHaveLength(2);
    clock.advance(60_000);
    await reconciler.settle();
    expect(passes).toHaveLength(3);
  });

  it('looks at what rests when all are woken, but what fails keeps its back-off', async () => {
    const { store, clock } = await open();
    const passes: string[] = [];
    const outcomes: Record<string, PassOutcome> = { rests: lookAgainIn(30_000), fails: failed(new Error('not yet')) };
    const reconciler = start(store, {
      list: async () => ['rests', 'fails'],
      wakeAllOn: ['world'],
      pass: async (id) => {
        passes.push(id);
        return outcomes[id] ?? done;
      },
    });
    await reconciler.settle();
    expect(passes.toSorted()).toEqual(['fails', 'rests']);
    clock.advance(600);
    await store.tx(async (tx) => tx.wake('world', 'something else'));
    await vi.waitFor(() => expect(passes.toSorted()).toEqual(['fails', 'rests', 'rests']));
    clock.advance(400);
    await reconciler.settle();
    expect(passes.toSorted()).toEqual(['fails', 'fails', 'rests', 'rests']);
  });

  it('loses no wake-up of all that comes while a pass runs', async () => {
    const { store } = await open();
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let passes = 0;
    const reconciler = start(store, {
      list: async () => ['one'],
      pass: async () => {
        passes += 1;
        begun.resolve();
        await gate.promise;
        return done;
      },
    });
    await begun.promise;
    reconciler.wake();
    gate.resolve();
    await vi.waitFor(() => expect(passes).toBeGreaterThanOrEqual(2));
  });

  it('tries a failed or throwing pass again after 1, 2, 4 s, and counts from the start after a success', async () => {
    const { store, clock } = await open();
    const begin = clock.now();
    const at: [number, number][] = [];
    const reconciler = start(store, {
      list: async () => ['a'],
      pass: async (_id, { failures }) => {
        at.push([(clock.now() - begin) / 1000, failures]);
        if (at.length === 2) throw new Error('bug');
        return at.length === 4 ? lookAgainIn(5000) : failed(new Error('down'));
      },
    });
    for (let second = 0; second < 14; second++) {
      await reconciler.settle();
      clock.advance(1000);
    }
    expect(at).toEqual([
      [0, 0],
      [1, 1],
      [3, 2],
      [7, 3],
      [12, 0],
      [13, 1],
    ]);
  });

  it('leaves an id alone that was given up, until it is woken by name', async () => {
    const { store, clock } = await open();
    let passes = 0;
    const reconciler = start(store, {
      list: async () => ['a'],
      pass: async () => {
        passes += 1;
        return gaveUp('no way');
      },
    });
    await reconciler.settle();
    clock.advance(3_600_000);
    await reconciler.settle();
    expect(passes).toBe(1);
    reconciler.wake('a');
    await reconciler.settle();
    expect(passes).toBe(2);
  });

  it('runs one pass for an id at a time, and another after a wake-up in its middle', async () => {
    const { store } = await open();
    let running = 0;
    let most = 0;
    let passes = 0;
    const reconciler = start(store, {
      list: async () => ['a'],
      pass: async (id) => {
        running += 1;
        most = Math.max(most, running);
        passes += 1;
        if (passes < 4) {
          reconciler.wake(id);
          reconciler.wake(id);
        }
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return done;
      },
    });
    await reconciler.settle();
    expect([most, passes]).toEqual([1, 4]);
  });

  it('does not let a failing pass that wakes itself run hot', async () => {
    const { store } = await open();
    let passes = 0;
    const reconciler = start(store, {
      list: async () => ['a'],
      pass: async (id) => {
        passes += 1;
        reconciler.wake(id);
        return failed(new Error('down'));
      },
    });
    await reconciler.settle();
    expect(passes).toBe(1);
  });

  it('runs no more passes at a time than it may, and all of them', async () => {
    const { store } = await open();
    let running = 0;
    let most = 0;
    const seen = new Set<string>();
    const reconciler = start(store, {
      concurrency: 3,
      list: async () => Array.from({ length: 20 }, (_value, index) => `i${index}`),
      pass: async (id) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        seen.add(id);
        return done;
      },
    });
    await reconciler.settle();
    expect(most).toBe(3);
    expect(seen.size).toBe(20);
  });

  it('waits for the running pass when it is stopped, and starts no other', async () => {
    const { store } = await open();
    const passes: string[] = [];
    let finish = (): void => {};
    let enter = (): void => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const reconciler = start(store, {
      concurrency: 1,
      list: async () => ['a', 'b'],
      pass: async (id) => {
        enter();
        await new Promise<void>((resolve) => (finish = resolve));
        passes.push(id);
        return done;
      },
    });
    await entered;
    const stopped = reconciler.stop();
    finish();
    await stopped;
    expect(passes).toEqual(['a']);
  });

  it('tells a pass by its signal that the stop has waited long enough', async () => {
    const { store } = await open();
    let enter = (): void => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const outcomes: PassOutcome[] = [];
    const reconciler = start(store, {
      list: async () => ['a'],
      onPass: ({ outcome }) => outcomes.push(outcome),
      pass: (_id, { signal }) => {
        enter();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
      },
    });
    await entered;
    await reconciler.stop(0);
    expect(outcomes).toMatchObject([{ kind: 'failed' }]);
  });

  it('goes on when the list cannot be read', async () => {
    const { store } = await open();
    const errors: unknown[] = [];
    let works = false;
    const passes: string[] = [];
    const reconciler = start(store, {
      onError: (error) => errors.push(error),
      list: async () => {
        if (!works) throw new Error('no list');
        return ['a'];
      },
      pass: async (id) => {
        passes.push(id);
        return done;
      },
    });
    await reconciler.settle();
    works = true;
    await reconciler.settle();
    expect(errors.length).toBeGreaterThan(0);
    expect(passes).toEqual(['a']);
  });

  it('grows its fence with each runner, and makes no events', async () => {
    const { store } = await open();
    const fences: number[] = [];
    const run = async (): Promise<void> => {
      const reconciler = start(store, {
        list: async () => ['a'],
        pass: async (_id, { fence, checkFence }) => {
          fences.push(fence);
          expect(await store.tx((tx) => checkFence(tx))).toMatchObject({ ok: true });
          return done;
        },
      });
      await reconciler.settle();
      await reconciler.stop();
    };
    await run();
    await run();
    expect(fences).toEqual([1, 2]);
    await store.settled();
    expect(await readEvents(store)).toEqual([]);
  });

  it('takes over at once from a dead runner on an embedded store, after 15 s among nodes', async () => {
    const { store, clock } = await open();
    let passes = 0;
    const options: ReconcilerOptions = {
      name: 'things',
      everyMs: 60_000,
      list: async () => ['a'],
      pass: async () => {
        passes += 1;
        return done;
      },
    };
    const dead = startReconciler(store, options);
    onTestFinished(() => dead.stop(0));
    await dead.settle();
    const next = start(store, options);
    await next.settle();
    expect(passes).toBe(dialect === 'sqlite' ? 2 : 1);
    clock.advance(15_000);
    await next.settle();
    expect(passes).toBe(dialect === 'sqlite' ? 3 : 2);
  });
});
