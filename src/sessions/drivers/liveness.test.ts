import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld } from '../../../test/agents/agent-world.ts';
import { mustOk } from '../../kernel/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

const quick = { pingInTurnMs: 200, pingIdleMs: 400, unresponsiveAfterMs: 500 };

test('an agent whose event loop is blocked is unresponsive, never dead by a probe (field case 3)', async () => {
  const { link, witness } = await world.open('hangs', { pace: quick });
  await witness.until(() => link.snapshot().phase === 'open', 'the opening');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.flag('unresponsive')).toMatchObject({ silentForMs: expect.any(Number) });
  expect(link.snapshot()).toMatchObject({ phase: 'open', isUnresponsive: true });
});

test('a stopped agent is unresponsive and comes back with SIGCONT (spec "Liveness", SIGSTOP)', async () => {
  const { link, witness, generation } = await world.open('works-silently', { pace: quick });
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('prompt-verdict', (event) => event.verdict === 'delivered');
  const { pid } = generation.record()!.agent;
  process.kill(pid, 'SIGSTOP');
  await witness.flag('unresponsive');
  process.kill(pid, 'SIGCONT');
  await witness.flag('responsive');
  expect(link.snapshot()).toMatchObject({ isUnresponsive: false, turn: 'running' });
});

test('a prompt to a stopped agent is unconfirmed, and delivered once it reads again (decision 8)', async () => {
  const { link, witness, generation } = await world.open('answers', { pace: { ...quick, unconfirmedAfterMs: 200 } });
  const { pid } = generation.record()!.agent;
  process.kill(pid, 'SIGSTOP');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('prompt-verdict', (event) => event.verdict === 'unconfirmed');
  process.kill(pid, 'SIGCONT');
  await witness.event('prompt-verdict', (event) => event.verdict === 'delivered');
  await witness.event('turn-ended');
});

test('a turn without news is stalled though the agent answers pings (field case 34)', async () => {
  const { link, witness } = await world.open('works-silently', { pace: { ...quick, stalledAfterMs: 600 } });
  mustOk(await link.prompt('p1', 'go'));
  await witness.flag('stalled');
  await link.cancelTurn();
  await witness.flag('unstalled');
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'cancelled' } });
});

test('a killed feeder closes the agent’s stdin: it ends, and nothing is sent into the void', async () => {
  const { link, witness, generation } = await world.open('answers');
  process.kill(generation.record()!.feeder.pid, 'SIGKILL');
  expect(await witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 0, isAfterLatch: false });
  const refused = await link.prompt('p1', 'go');
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'generation_ended' } });
});

test('an agent goes on under a killed wrapper and can be stopped (X-15)', async () => {
  const { link, witness, generation } = await world.open('answers');
  process.kill(generation.record()!.wrapper.pid, 'SIGKILL');
  mustOk(await link.prompt('p1', 'still there?'));
  await witness.event('turn-ended');
  expect(await link.stop()).toMatchObject({ endedBy: 'end-of-input', survivors: [] });
  expect(await witness.flag('exited')).toMatchObject({ cause: 'gone', isAfterLatch: true });
});
