import { expect, it } from 'vitest';

import { supervisedWorld } from './testing.ts';

it('halves of characters in what an agent asks and says hold up nothing (S-46)', async () => {
  const world = await supervisedWorld({ firstPrompt: 'begin', judge: () => ({ kind: 'allow' }) });
  const id = await world.start('writes-half-characters');
  await world.until(async () => (await world.events('session.turn-ended')).length > 0, 'the end of the turn');
  expect((await world.events('session.turn-ended'))[0]?.facts).toMatchObject({ stop_reason: 'other' });
  expect(world.faults).toEqual([]);
  expect(await world.row(id)).toMatchObject({ state: 'RUNNING', turn_open: 0 });
});

it('an agent whose words the store refuses for good is ended, not waited for without end (S-46)', async () => {
  const world = await supervisedWorld({ firstPrompt: 'begin' });
  world.ctx.ports.onTurnEnded = async () => {
    throw new Error('this cannot be stored');
  };
  const id = await world.start('answers');
  const row = await world.inState(id, 'CRASHED');
  expect(row.reason).toBe('unstorable_output');
  await world.when(id, (now) => now.process === 'ended', 'the end of its process');
  expect(world.pids(row)).toEqual([]);
});
