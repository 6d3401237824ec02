import { expect, it } from 'vitest';

import { openPostgres } from '../../store/index.ts';
import { openTestPostgres, postgresMissing } from '../../store/testing.ts';
import { type SupervisedWorld, supervisedWorld } from './testing.ts';

async function setup(): Promise<SupervisedWorld> {
  const { location } = await openTestPostgres();
  const store = await openPostgres(location, { maxConnections: 8 });
  return supervisedWorld({ store, firstPrompt: 'Do the work.', settings: { maxActive: 10 } });
}

const missing = postgresMissing();
it.skipIf(missing !== undefined)(
  `the same supervision on PostgreSQL: questions of four sessions at once, a restart, a death${missing ? ` (did not run: ${missing})` : ''}`,
  async () => {
    const world = await setup();
    const keys = ['PD-1', 'PD-2', 'PD-3', 'PD-4'];
    const ids = await Promise.all(keys.map((workKey) => world.start('asks-question', workKey)));
    await Promise.all(ids.map((id) => world.inState(id, 'ESCALATED')));
    await world.restart();
    expect(world.supervisor().attachedSessions()).toHaveLength(4);
    await Promise.all(keys.map((workKey) => world.must('respond', { workKey, text: `answer of ${workKey}` })));
    await Promise.all(ids.map((id) => world.inState(id, 'RUNNING')));
    await world.until(async () => world.calls.turnsEnded.length === 4, 'four turns');
    const dead = await world.row(ids[0] ?? '');
    process.kill(dead.pid!, 'SIGKILL');
    await world.inState(dead.id, 'CRASHED');
    expect(world.faults).toEqual([]);
  },
);

it.skipIf(missing !== undefined)('two starts at once cannot both take the last slot on PostgreSQL (S-19)', async () => {
  const world = await setup();
  world.settings.maxActive = 2;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      world.run('start', { workKey: `PD-${index}`, start: { agent: 'answers' } }),
    ),
  );
  expect(answers.filter((answer) => answer.ok)).toHaveLength(2);
  expect(await world.store.read.selectFrom('session').select('id').execute()).toHaveLength(2);
});
