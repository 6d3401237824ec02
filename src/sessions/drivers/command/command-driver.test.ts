import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfile, plainCommand } from '../../../../test/agents/agent-world.ts';
import { mustOk } from '../../../kernel/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

const profile = fakeProfile({ name: 'script', driver: 'command', mode: null });

test('a running program is a peer and open; its lines are shown; exit 0 is told as an exit, not as success', async () => {
  const generation = await world.start(plainCommand(['/bin/sh', '-c', 'echo one; echo two; printf three']));
  const { witness } = await world.attach(generation, { profile });
  expect(await witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 0 });
  expect(witness.events).toEqual([
    { kind: 'peer-seen', agentName: 'script' },
    { kind: 'opened', conversationId: null, mode: null, isResumed: false },
    { kind: 'state', state: 'running' },
    { kind: 'noise', text: 'one' },
    { kind: 'noise', text: 'two' },
    { kind: 'noise', text: 'three' },
  ]);
  expect(witness.events.some((event) => event.kind === 'turn-ended')).toBe(false);
});

test('takes prompts as lines only where its profile says so, and never claims that one was delivered', async () => {
  const deaf = await world.attach(await world.start(fakeAgent('prints-lines')), { profile });
  await deaf.witness.event('opened');
  expect(await deaf.link.prompt('p1', 'hello')).toMatchObject({ ok: false, refusal: { code: 'no_prompts' } });

  const listens = fakeProfile({ ...profile, quirks: { input: 'lines' } });
  const { link, witness } = await world.attach(await world.start(fakeAgent('prints-lines')), { profile: listens });
  await witness.event('opened');
  expect(mustOk(await link.prompt('p1', 'hello'))).toEqual({ verdict: 'unconfirmed' });
  mustOk(await link.prompt('p1', 'hello'));
  await witness.event('noise', (event) => event.text.startsWith('read'));
  await link.stop();
  await witness.flag('exited');
  const read = witness.events.flatMap((event) =>
    event.kind === 'noise' && event.text.startsWith('read') ? [event.text] : [],
  );
  expect(read).toEqual(['read {"promptId":"p1","prompt":"hello"}']);
});

test('is adopted from its offset', async () => {
  const generation = await world.start(plainCommand(['/bin/sh', '-c', 'echo one; read line; echo two']));
  const first = await world.attach(generation, { profile });
  await first.witness.event('noise');
  await first.link.detach();
  const second = await world.attach(await world.reopen(generation), { profile, consumedTo: first.witness.consumedTo });
  mustOk(await second.generation.append('{}'));
  await second.witness.flag('exited');
  expect(second.witness.events).toEqual([{ kind: 'noise', text: 'two' }]);
});
