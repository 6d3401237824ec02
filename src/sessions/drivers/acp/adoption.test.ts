import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld } from '../../../../test/agents/agent-world.ts';
import { KillableServers } from '../../../../test/agents/killable-server.ts';
import { manualClock, mustOk } from '../../../kernel/index.ts';
import { openGeneration } from '../../host/index.ts';

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
  const server = servers.start('asks-permission');
  const consumedTo = await server.until('permission-asked');
  const generation = await server.kill();
  const { link, witness } = await world.attach(generation, { consumedTo });
  const { permissions, openPromptId, turn, prompts } = link.snapshot();
  expect({ turn, openPromptId }).toEqual({ turn: 'requires_action', openPromptId: 'p1' });
  expect(prompts).toMatchObject([{ promptId: 'p1', verdict: 'delivered' }]);
  expect(permissions).toHaveLength(1);
  expect(mustOk(await link.prompt('p1', 'go'))).toEqual({ verdict: 'delivered' });
  mustOk(await link.answerPermission(permissions[0]!.requestId, 'allow_once'));
  expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'end_turn' } });
  expect(witness.text()).toBe(`${generation.record()!.agent.pid}: proceed_once`);
  // Nothing that was applied before comes again.
  expect(witness.events.some((event) => event.kind === 'opened' || event.kind === 'permission-asked')).toBe(false);
});

test('what was not applied before the kill comes again from the consumed offset (decision 2)', async () => {
  const server = servers.start('asks-question');
  await server.until('question-asked');
  const generation = await server.kill();
  const { witness, link } = await world.attach(generation, { consumedTo: 0 });
  const { question } = await witness.event('question-asked');
  expect(link.snapshot().questions).toEqual([question]);
  mustOk(await link.answerQuestion(question.requestId, { action: 'decline' }));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('decline: null');
});

const megabyte = 1024 * 1024;

test.each([
  ['in.next', 6 * megabyte],
  ['in.ndjson', 1 * megabyte],
])(
  'a server killed in the middle of writing a 12 MB answer, %s at %i: nothing torn, nothing twice',
  async (file, size) => {
    const length = 12 * megabyte;
    const server = servers.start('counts-answers', length);
    const consumedTo = await server.until('question-asked');
    server.killWhen(file, size);
    const generation = await server.kill();
    const { link, witness } = await world.attach(generation, { consumedTo });
    const [question] = link.snapshot().questions;
    const answer = { action: 'accept', content: { text: 'x'.repeat(length) } } as const;
    if (question) mustOk(await link.answerQuestion(question.requestId, answer));
    await witness.event('turn-ended');
    const { pid } = generation.record()!.agent;
    expect(JSON.parse(witness.text())).toEqual({ pid, answers: 1, tornLines: 0, length });
    const lines = readFileSync(generation.files.inbox, 'utf8').split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => JSON.parse(line)).filter((frame) => 'result' in frame)).toHaveLength(1);
  },
);

test('a server killed while it opens the conversation: the next one goes on with the step that is due', async () => {
  const server = servers.start('answers');
  await server.until('peer-seen');
  const generation = await server.kill();
  const { link, witness } = await world.attach(generation, { consumedTo: 0 });
  await witness.event('opened');
  mustOk(await link.prompt('p-next', 'hello'));
  await witness.event('turn-ended', (event) => event.promptId === 'p-next');
  const methods = readFileSync(generation.files.inbox, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { method?: string }).method);
  expect(methods.filter((method) => method === 'initialize' || method === 'session/new')).toHaveLength(2);
});

test('an agent that died while no server lived is found dead, with all that it had said', async () => {
  const server = servers.start('asks-permission');
  await server.until('permission-asked');
  const generation = await server.kill();
  process.kill(generation.record()!.agent.pid, 'SIGKILL');
  const { link, witness } = await world.attach(generation, { consumedTo: 0 });
  expect(await witness.flag('exited')).toMatchObject({ code: 137, isAfterLatch: false });
  const { permission } = await witness.event('permission-asked');
  expect(await witness.event('request-settled')).toMatchObject({ requestId: permission.requestId, by: 'end' });
  expect(link.snapshot()).toMatchObject({ phase: 'ended', permissions: [] });
});

test('a server killed right after it made the folder: START_FAILED, told as such (design 7)', async () => {
  const folder = join(world.folder, 'session', '1');
  mkdirSync(folder, { recursive: true });
  const clock = manualClock(Date.now());
  const generation = mustOk(await openGeneration(folder, { clock }));
  const { witness, link } = await world.attach(generation, { clock });
  expect(link.snapshot().phase).toBe('launching');
  clock.advance(6_000);
  expect(await witness.event('start-failed')).toMatchObject({ code: 'no_process' });
  expect(await witness.flag('exited')).toMatchObject({ cause: 'never-started' });
});
