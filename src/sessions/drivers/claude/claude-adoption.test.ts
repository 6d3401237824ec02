import { readFileSync } from 'node:fs';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeProfileOf } from '../../../../test/agents/agent-world.ts';
import { KillableServers } from '../../../../test/agents/killable-server.ts';
import { mustOk } from '../../../kernel/index.ts';

let world: AgentWorld;
let servers: KillableServers;
beforeEach(() => {
  world = new AgentWorld();
  servers = new KillableServers(world);
});
afterEach(async () => {
  await servers.close();
  await world.close();
});

test('a server killed with a permission open: the next one answers it in the same agent process (field case 28)', async () => {
  const server = servers.start('claude-asks-permission');
  const consumedTo = await server.until('permission-asked');
  const generation = await server.kill();
  const profile = fakeProfileOf('claude-asks-permission');
  const { link, witness } = await world.attach(generation, { profile, consumedTo });
  const { permissions, openPromptId, turn, prompts, conversationId, mode } = link.snapshot();
  expect({ turn, openPromptId, mode }).toEqual({ turn: 'requires_action', openPromptId: 'p1', mode: 'default' });
  expect(conversationId).toBe('5e551011-0000-4000-8000-000000000001');
  expect(prompts).toMatchObject([{ promptId: 'p1', verdict: 'delivered' }]);
  expect(permissions).toHaveLength(1);
  expect(mustOk(await link.prompt('p1', 'go'))).toEqual({ verdict: 'delivered' });
  mustOk(await link.answerPermission(permissions[0]!.requestId, 'allow_once'));
  expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'end_turn' } });
  expect(witness.text()).toContain(`${generation.record()!.agent.pid}: allow`);
  expect(witness.events.some((event) => event.kind === 'opened' || event.kind === 'permission-asked')).toBe(false);
});

test('what was not applied before the kill comes again from the consumed offset (decision 2)', async () => {
  const server = servers.start('claude-asks-question');
  await server.until('question-asked');
  const generation = await server.kill();
  const profile = fakeProfileOf('claude-asks-question');
  const { link, witness } = await world.attach(generation, { profile, consumedTo: 0 });
  const { question } = await witness.event('question-asked');
  expect(link.snapshot().questions).toEqual([question]);
  mustOk(await link.answerQuestion(question.requestId, { action: 'accept', content: { question_1: 'half up' } }));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('allow: {"Which rounding?":"half up"}');
});

test('a server killed while it opens the conversation: the next one goes on with the step that is due', async () => {
  const server = servers.start('claude-answers');
  await server.until('peer-seen');
  const generation = await server.kill();
  const profile = fakeProfileOf('claude-answers');
  const { link, witness } = await world.attach(generation, { profile, consumedTo: 0 });
  await witness.event('opened');
  mustOk(await link.prompt('p-next', 'hello'));
  await witness.event('turn-ended', (event) => event.promptId === 'p-next');
  const subtypes = readFileSync(generation.files.inbox, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { request?: { subtype: string } }).request?.subtype);
  expect(subtypes.filter((each) => each === 'initialize' || each === 'set_permission_mode')).toHaveLength(2);
});

const megabyte = 1024 * 1024;

test.each([
  ['in.next', 3 * megabyte],
  ['in.ndjson', 1 * megabyte],
])(
  'a server killed in the middle of writing a 6 MB answer, %s at %i: nothing torn, nothing twice',
  async (file, size) => {
    const server = servers.start('claude-asks-question', 6 * megabyte);
    const consumedTo = await server.until('question-asked');
    server.killWhen(file, size);
    const generation = await server.kill();
    const profile = fakeProfileOf('claude-asks-question');
    const { link, witness } = await world.attach(generation, { profile, consumedTo });
    const [question] = link.snapshot().questions;
    const content = { question_1: 'x'.repeat(6 * megabyte) };
    if (question) mustOk(await link.answerQuestion(question.requestId, { action: 'accept', content }));
    expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'end_turn' } });
    expect(witness.text()).toHaveLength('allow: {"Which rounding?":""}'.length + 6 * megabyte);
    const lines = readFileSync(generation.files.inbox, 'utf8').split('\n');
    expect(lines.pop()).toBe('');
    const frames = lines.map((line) => JSON.parse(line) as { type: string });
    expect(frames.filter((frame) => frame.type === 'control_response')).toHaveLength(1);
  },
);
