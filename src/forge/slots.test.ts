import { expect, test, vi } from 'vitest';

import { createSlots } from './slots.ts';

function setup(count: () => number, isHeld?: () => boolean) {
  const slots = createSlots(count, isHeld);
  const ends: (() => void)[] = [];
  const begin = () => slots.run(() => new Promise<void>((resolve) => void ends.push(resolve)));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { slots, ends, begin, settle };
}

test('never more runs than slots, in the order of asking; a changed number holds at once', async () => {
  let count = 2;
  const { slots, ends, begin, settle } = setup(() => count);
  const runs = [begin(), begin(), begin(), begin(), begin()];
  await settle();
  expect(slots).toMatchObject({ count: 2, inUse: 2, waiting: 3 });
  count = 1;
  ends[0]!();
  await settle();
  expect(slots).toMatchObject({ inUse: 1, waiting: 3 });
  count = 3;
  ends[1]!();
  await settle();
  expect(slots).toMatchObject({ inUse: 3, waiting: 0 });
  for (const end of ends) end();
  await Promise.all(runs);
  expect(slots.inUse).toBe(0);
});

test('a machine without room runs one at a time and is never stuck (design 6)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let isHeld = true;
    const { slots, ends, begin, settle } = setup(
      () => 4,
      () => isHeld,
    );
    const runs = [begin(), begin(), begin()];
    await settle();
    expect(slots).toMatchObject({ inUse: 1, waiting: 2 });
    ends[0]!();
    await settle();
    expect(slots).toMatchObject({ inUse: 1, waiting: 1 });
    isHeld = false;
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(slots).toMatchObject({ inUse: 2, waiting: 0 });
    for (const end of ends) end();
    await Promise.all(runs);
  } finally {
    vi.useRealTimers();
  }
});
