import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfile, plainCommand, survivorsOf } from '../../../test/agents/agent-world.ts';
import { isAlive } from './index.ts';
import { readProcess } from './process-identity.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

const graces = { endOfInputGraceMs: 300, termGraceMs: 400, killGraceMs: 1_000 };

/** The six ways in which an agent ends; none may leave a process. */
const ways: [
  string,
  (world: AgentWorld) => Promise<{ generation: Awaited<ReturnType<AgentWorld['start']>>; how: string }>,
][] = [
  ['the end of its input', async (w) => ({ generation: (await w.open('answers')).generation, how: 'end-of-input' })],
  [
    'SIGTERM, with exit code 0',
    async (w) => ({ generation: (await w.open('exits-zero-on-signal')).generation, how: 'terminate' }),
  ],
  ['SIGKILL', async (w) => ({ generation: (await w.open('ignores-sigterm')).generation, how: 'kill' })],
  [
    'its own death',
    async (w) => {
      const { generation, witness } = await w.open('answers');
      process.kill(generation.record()!.agent.pid, 'SIGKILL');
      await witness.flag('exited');
      return { generation, how: 'already' };
    },
  ],
  [
    'the death of its wrapper',
    async (w) => {
      const { generation } = await w.open('answers');
      process.kill(generation.record()!.wrapper.pid, 'SIGKILL');
      return { generation, how: 'end-of-input' };
    },
  ],
  [
    'the death of its feeder and its wrapper together',
    async (w) => {
      const { generation, witness } = await w.open('answers');
      process.kill(generation.record()!.wrapper.pid, 'SIGKILL');
      process.kill(generation.record()!.feeder.pid, 'SIGKILL');
      await witness.flag('exited');
      return { generation, how: 'already' };
    },
  ],
];

test.each(ways)('leaves no survivor after %s (decision 5, X-15)', async (_, make) => {
  const { generation, how } = await make(world);
  const report = await generation.stop(graces);
  expect(report).toMatchObject({ endedBy: how, survivors: [] });
  expect(survivorsOf(generation)).toEqual([]);
  expect(report.durationMs).toBeLessThan(5_000);
});

test('sweeps a server that the agent left in a session of its own and that ignores SIGTERM (trap 4, field case 21)', async () => {
  const { link, witness, generation } = await world.open('leaves-server');
  await link.prompt('p1', 'go');
  await witness.event('turn-ended');
  const pid = Number(/server (\d+)/.exec(witness.text())?.[1]);
  expect(survivorsOf(generation)).toContain(pid);
  const report = await generation.stop(graces);
  expect(report).toMatchObject({ endedBy: 'end-of-input', swept: 1, survivors: [] });
  expect(survivorsOf(generation)).toEqual([]);
});

test('tells the end of an agent at once though a child of it still holds its output', async () => {
  const { link, witness, generation } = await world.open('leaves-server');
  await link.prompt('p1', 'go');
  await witness.event('turn-ended');
  const killedAt = performance.now();
  process.kill(generation.record()!.agent.pid, 'SIGKILL');
  expect(await witness.flag('exited')).toMatchObject({ cause: 'exit-status', isAfterLatch: false });
  expect(performance.now() - killedAt).toBeLessThan(1_000);
});

test('finds a child that cleared its environment and left its group, while its parent lives', async () => {
  const script = "env -i setsid /bin/sh -c 'echo $$; exec sleep 600' & wait";
  const generation = await world.start(plainCommand(['/bin/sh', '-c', script]));
  const { witness } = await world.attach(generation, { profile: fakeProfile({ driver: 'command' }) });
  const pid = Number((await witness.event('noise')).text);
  expect(await generation.stop(graces)).toMatchObject({ survivors: [] });
  const left = readProcess(pid);
  expect(left === undefined || left.state === 'Z').toBe(true);
});

test('a stop before the agent is executed prevents it; a second stop finds nothing to do', async () => {
  const generation = await world.start(fakeAgent('answers'));
  const report = await generation.stop(graces);
  expect(report.survivors).toEqual([]);
  expect(survivorsOf(generation)).toEqual([]);
  expect(await generation.stop(graces)).toMatchObject({ endedBy: 'already', swept: 0, survivors: [] });
});

test('what the agent says after the latch does not count: no success by a late end_turn (decision 5)', async () => {
  const { link, witness } = await world.open('ends-turn-after-latch');
  await link.prompt('p1', 'go');
  await witness.event('prompt-verdict', (event) => event.verdict === 'delivered');
  const report = await link.stop({ cancelGraceMs: 50 });
  expect(report.endedBy).toBe('terminate');
  expect(await witness.flag('exited')).toMatchObject({ code: 0, isAfterLatch: true });
  expect(witness.events.some((event) => event.kind === 'turn-ended')).toBe(false);
});

test('a stop answers what is open with cancelled before it ends anything (decision 5)', async () => {
  const { link, witness, generation } = await world.open('asks-permission');
  await link.prompt('p1', 'go');
  await witness.event('permission-asked');
  await link.stop();
  expect(await witness.event('request-settled')).toMatchObject({ by: 'cancel' });
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'cancelled' } });
  expect(witness.text()).toMatch(/: cancelled$/);
  expect(isAlive(generation.record()!.agent)).toBe(false);
});
