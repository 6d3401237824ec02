import { expect, test } from 'vitest';

import { manualClock } from '../../kernel/index.ts';
import type { LivenessEvent } from './driver-event.ts';
import { defaultPace } from './link-pace.ts';
import { Pulse } from './pulse.ts';
import type { PulseContext } from './pulse.ts';

function setup() {
  const clock = manualClock();
  const pulse = new Pulse(clock, defaultPace);
  const context: PulseContext = { isOpen: true, isTurnOpen: true, isAsking: false };
  /** Lives through `ms` as a link does: looks each 250 ms, pings when due; `answers` says whether the agent answers. */
  const live = (ms: number, answers: boolean): LivenessEvent[] => {
    const flags: LivenessEvent[] = [];
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      if (pulse.isPingDue(context)) {
        pulse.pinged();
        if (answers) pulse.heard(true);
      }
      flags.push(...pulse.look(context));
    }
    return flags;
  };
  return { clock, pulse, context, live };
}

test('an agent that hangs in its turn is unresponsive within 3 s, and responsive as soon as it answers (decision 4)', () => {
  const { pulse, live } = setup();
  expect(live(5_000, true)).toEqual([]);
  expect(live(1_500, false)).toEqual([]);
  expect(live(1_500, false)).toMatchObject([{ kind: 'unresponsive' }]);
  expect(live(60_000, false)).toEqual([]);
  pulse.heard(true);
  pulse.heard(true);
  expect(live(250, true)).toEqual([{ kind: 'responsive' }]);
});

test('outside a turn it is pinged each 30 s, and a missed one is followed up at once', () => {
  const { context, live } = setup();
  live(2_000, true);
  context.isTurnOpen = false;
  expect(live(29_000, false)).toEqual([]);
  expect(live(5_000, false)).toMatchObject([{ kind: 'unresponsive' }]);
});

test('an agent that never answered a ping is not judged by its silence', () => {
  const { live } = setup();
  expect(live(120_000, false)).toEqual([]);
});

test('an agent that works is not unresponsive though its answers wait', () => {
  const { pulse, live } = setup();
  live(2_000, true);
  for (let second = 0; second < 30; second += 1) {
    expect(live(1_000, false)).toEqual([]);
    pulse.heard(false);
  }
});

test('a turn without news for 5 min is stalled; while somebody is asked the clock stands still', () => {
  const { pulse, context, live } = setup();
  context.isAsking = true;
  expect(live(600_000, true)).toEqual([]);
  context.isAsking = false;
  expect(live(299_000, true)).toEqual([]);
  expect(live(2_000, true)).toMatchObject([{ kind: 'stalled' }]);
  pulse.heard(false);
  expect(live(500, true)).toEqual([{ kind: 'unstalled' }]);
});

test('a pause of the machine or of this server proves nothing about the agent', () => {
  const { clock, pulse, context, live } = setup();
  live(5_000, true);
  pulse.pinged();
  clock.advance(3_600_000);
  expect(pulse.look(context)).toEqual([]);
  pulse.heard(true);
  expect(live(10_000, true)).toEqual([]);
});
