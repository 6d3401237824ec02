import { expect, it } from 'vitest';

import { createCallMeter } from './call-bounds.ts';

it('passes a burst, then as many a second as the bound says, and names the wait', () => {
  let now = 0;
  const meter = createCallMeter({ burst: 3, perSecond: 0.5 }, () => now);
  expect(Array.from({ length: 4 }, () => meter.take())).toEqual([0, 0, 0, 2]);
  now += 1000;
  expect(meter.take()).toBe(1);
  now += 1000;
  expect([meter.take(), meter.take()]).toEqual([0, 2]);
  expect(meter.isFull()).toBe(false);
  now += 3_600_000;
  expect(meter.isFull()).toBe(true);
  expect(Array.from({ length: 4 }, () => meter.take())).toEqual([0, 0, 0, 2]);
});

it('tells of a flood once a minute', () => {
  let now = 0;
  const meter = createCallMeter({ burst: 1, perSecond: 1 }, () => now);
  meter.take();
  expect([meter.isWorthTelling(), meter.isWorthTelling()]).toEqual([true, false]);
  now += 60_000;
  meter.take();
  expect(meter.isWorthTelling()).toBe(true);
});
