import { readFileSync } from 'node:fs';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfileOf, survivorsOf } from '../../../../test/agents/agent-world.ts';
import { KillableServers } from '../../../../test/agents/killable-server.ts';
import { mustOk } from '../../../kernel/index.ts';
import { codexDriver } from './codex-driver.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

test('is for a sandbox that holds only, since it asks nobody', () => {
  expect(codexDriver.asksNobody).toBe(true);
});

test('the runner is the peer; the thread is known with the first turn, and turn.completed ends it', async () => {
  const { link, witness } = await world.open('codex-answers');
  expect(witness.events.slice(0, 2)).toEqual([
    { kind: 'peer-seen', agentName: 'codex', agentVersion: 'codex-cli 9.9.9' },
    { kind: 'opened', conversationId: null, mode: 'default', isResumed: false },
  ]);
  mustOk(await link.prompt('p1', 'two\nlines, "quotes" and a \\ — naïve 🦊'));
  expect(await witness.event('turn-ended')).toEqual({
    kind: 'turn-ended',
    promptId: 'p1',
    outcome: { stopReason: 'end_turn' },
  });
  const { conversationId } = await witness.event('conversation');
  expect(witness.text()).toBe(`${conversationId} heard: two\nlines, "quotes" and a \\ — naïve 🦊`);
  expect(await witness.event('prompt-verdict')).toMatchObject({ verdict: 'delivered' });
  expect(await witness.event('tokens')).toEqual({ kind: 'tokens', input: 100, output: 7, cached: 40 });
  const call = await witness.event('tool-call', (event) => event.call.status === 'completed');
  expect(call.call).toMatchObject({ operation: 'execute', input: { command: 'echo hi' }, output: { exitCode: 0 } });
});

test('a second prompt is a second process that resumes the thread, in the same generation', async () => {
  const { link, witness, generation } = await world.open('codex-answers');
  for (const promptId of ['p1', 'p2']) {
    mustOk(await link.prompt(promptId, promptId));
    await witness.event('turn-ended', (event) => event.promptId === promptId);
  }
  const { conversationId } = await witness.event('conversation');
  expect(witness.text()).toBe(`${conversationId} heard: p1${conversationId} heard: p2`);
  expect(witness.events.filter((event) => event.kind === 'conversation')).toHaveLength(1);
  expect(generation.look().phase).toBe('running');
  const calls = new Set(witness.events.flatMap((event) => (event.kind === 'tool-call' ? [event.call.callId] : [])));
  expect([...calls]).toEqual(['1.item_0', '2.item_0']);
});

test('a new generation goes on with the thread (exec resume)', async () => {
  const { link, witness } = await world.open('codex-answers', { resume: { conversationId: 'thread-9' } });
  expect(await witness.event('opened')).toMatchObject({ conversationId: 'thread-9', isResumed: true });
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('thread-9 heard: go');
});

test('its servers are configured by name; no value of their environment stands in its command line', async () => {
  const mcpServers = [{ name: 'chantier', command: '/bin/bridge', args: ['mcp'], env: { CHANTIER_TOKEN: 'secret' } }];
  const profile = fakeProfileOf('codex-answers');
  const generation = await world.start(fakeAgent('codex-answers', {}, { mcpServers }));
  const { link, witness } = await world.attach(generation, { profile, mcpServers });
  await witness.event('opened');
  mustOk(await link.prompt('p1', 'arguments'));
  await witness.event('turn-ended');
  const flags = JSON.parse(witness.text()) as string[];
  expect(flags.slice(0, 4)).toEqual([
    'exec',
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
  ]);
  expect(flags).toContain('mcp_servers.chantier.command="/bin/bridge"');
  expect(flags).toContain('mcp_servers.chantier.env_vars=["CHANTIER_TOKEN"]');
  expect(flags.at(-1)).toBe('-');
  expect(flags.join(' ')).not.toContain('secret');
});

test('turn.failed is a failed turn with the limit that it speaks of', async () => {
  const { link, witness } = await world.open('codex-fails');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { error: { code: 429 } } });
  expect(await witness.event('limit')).toMatchObject({ reason: 'rate' });
  expect(link.snapshot().turn).toBe('idle');
});

test('a process that ends with 0 and without an end of its turn has failed (trap 3)', async () => {
  const { link, witness } = await world.open('codex-ends-early');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { error: { code: 0 } } });
  expect(witness.text()).toBe('so far');
  expect(await witness.event('noise')).toEqual({ kind: 'noise', text: '{"type":"item.comp' });
});

test('one that never begins delivered nothing, and no further try is made (cannot_resume)', async () => {
  const { link, witness } = await world.open('codex-never-begins', { resume: { conversationId: 'thread-9' } });
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('start-failed')).toMatchObject({ code: 'cannot_resume' });
  expect(await witness.event('prompt-verdict')).toMatchObject({ verdict: 'not_delivered' });
  expect(link.snapshot().phase).toBe('failed');
  expect(await link.prompt('p2', 'again')).toMatchObject({ ok: false });
});

test('a cancel interrupts the process of the turn and nothing else; the next prompt waits for its end', async () => {
  const { link, witness, generation } = await world.open('codex-waits');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('message');
  expect(await link.prompt('p2', 'too early')).toMatchObject({ ok: false, refusal: { code: 'turn_open' } });
  await link.cancelTurn();
  expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'cancelled' } });
  expect(generation.look().phase).toBe('running');
  mustOk(await link.prompt('p3', 'again'));
  await witness.event('prompt-verdict', (event) => event.promptId === 'p3' && event.verdict === 'delivered');
});

test('silence in an open turn is told as stalled: it waits for the network for ever (trap 6)', async () => {
  const { link, witness } = await world.open('codex-waits', { pace: { stalledAfterMs: 300 } });
  mustOk(await link.prompt('p1', 'go'));
  await witness.flag('stalled');
  expect(witness.flags.some((flag) => flag.kind === 'unresponsive')).toBe(false);
});

test('an ordered stop ends the turn and leaves nothing (decision 5)', async () => {
  const { link, witness, generation } = await world.open('codex-waits');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('message');
  expect(await link.stop()).toMatchObject({ endedBy: 'end-of-input', survivors: [] });
  expect(await witness.flag('exited')).toMatchObject({ isAfterLatch: true });
  expect(survivorsOf(generation)).toEqual([]);
});

test('a runner that is told to end ends its turn with it', async () => {
  const { link, witness, generation } = await world.open('codex-waits');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('message');
  process.kill(generation.record()!.agent.pid, 'SIGTERM');
  expect(await witness.flag('exited')).toMatchObject({ code: 143 });
  // The wrapper's companions end a moment after the status is written.
  await expect.poll(() => survivorsOf(generation)).toEqual([]);
});

test('a server killed in the middle of a turn: the next one sees its end and prompts on, with the same thread', async () => {
  const servers = new KillableServers(world);
  try {
    const server = servers.start('codex-waits');
    const consumedTo = await server.until('message');
    const generation = await server.kill();
    const { link, witness } = await world.attach(generation, { profile: fakeProfileOf('codex-waits'), consumedTo });
    const before = link.snapshot();
    expect(before).toMatchObject({ phase: 'open', turn: 'running', openPromptId: 'p1' });
    expect(before.conversationId).toMatch(/^thread-/);
    await link.cancelTurn();
    expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'cancelled' } });
    mustOk(await link.prompt('p2', 'again'));
    await witness.event('prompt-verdict', (event) => event.promptId === 'p2' && event.verdict === 'delivered');
    const orders = readFileSync(generation.files.inbox, 'utf8').split('\n').filter(Boolean);
    expect(JSON.parse(orders.at(-1)!)).toMatchObject({ kind: 'prompt', promptId: 'p2', thread: before.conversationId });
    expect(witness.events.some((event) => event.kind === 'opened' || event.kind === 'conversation')).toBe(false);
  } finally {
    await servers.close();
  }
});
