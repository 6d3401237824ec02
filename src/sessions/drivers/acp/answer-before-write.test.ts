import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfileOf } from '../../../../test/agents/agent-world.ts';
import { mustOk } from '../../../kernel/index.ts';
import type { Generation } from '../../host/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

/** A machine under load: what was written lies in the file long before the writer hears of it. */
function reportWritesLate(generation: Generation, lateMs: number): void {
  const append = generation.append.bind(generation);
  generation.append = async (frame) => {
    const appended = await append(frame);
    await sleep(lateMs);
    return appended;
  };
}

test('an answer that comes before our own write is reported is not lost: the session opens and its turn ends (S-28, S-29, decision 2)', async () => {
  const generation = await world.start(fakeAgent('answers'));
  reportWritesLate(generation, 150);
  const { link, witness } = await world.attach(generation, { profile: fakeProfileOf('answers') });
  await witness.event('opened');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'end_turn' } });
  expect(link.snapshot()).toMatchObject({ turn: 'idle', openPromptId: null });
  expect(witness.faults).toEqual([]);
});

test('the same holds for the protocol of Claude Code (decision 3)', async () => {
  const generation = await world.start(fakeAgent('claude-answers'));
  reportWritesLate(generation, 150);
  const { link, witness } = await world.attach(generation, { profile: fakeProfileOf('claude-answers') });
  await witness.event('opened');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended', (event) => event.promptId === 'p1');
  expect(link.snapshot().openPromptId).toBe(null);
});
