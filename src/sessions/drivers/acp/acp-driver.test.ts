import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfile } from '../../../../test/agents/agent-world.ts';
import { isRefused, mustOk } from '../../../kernel/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

test('opens a conversation: peer seen, then mode set and read back (S-28, decision 3)', async () => {
  const { link, witness } = await world.open('answers');
  expect(witness.events.slice(0, 2)).toEqual([
    { kind: 'peer-seen', agentName: 'fake-agent', agentVersion: '1.0.0' },
    { kind: 'opened', conversationId: 's-1', mode: 'default', isResumed: false },
  ]);
  expect(link.snapshot()).toMatchObject({ phase: 'open', turn: 'idle', mode: 'default', conversationId: 's-1' });
});

test('reads the mode back from the answer where it is a configuration option', async () => {
  const { witness } = await world.open('mode-by-option');
  expect(await witness.event('opened')).toMatchObject({ mode: 'default' });
});

test('delivers a prompt once, with proof, in order, and tells the end of its turn (decision 8, field cases 43 and 45)', async () => {
  const { link, witness } = await world.open('answers');
  mustOk(await link.prompt('p1', 'first'));
  await witness.event('turn-ended');
  expect(witness.events.slice(2)).toEqual([
    { kind: 'state', state: 'running' },
    { kind: 'prompt-verdict', promptId: 'p1', verdict: 'delivered' },
    { kind: 'message', role: 'agent', text: 'heard: first', replayed: false },
    { kind: 'turn-ended', promptId: 'p1', outcome: { stopReason: 'end_turn' } },
    { kind: 'state', state: 'idle' },
  ]);
  expect(mustOk(await link.prompt('p1', 'first'))).toEqual({ verdict: 'delivered' });
  mustOk(await link.prompt('p2', 'second'));
  await witness.event('turn-ended', (event) => event.promptId === 'p2');
  expect(witness.text()).toBe('heard: firstheard: second');
});

test('a permission holds the turn and is answered by kind, whatever the option is called', async () => {
  const { link, witness, generation } = await world.open('asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  const { permission } = await witness.event('permission-asked');
  expect(permission).toMatchObject({
    call: { callId: 'call-1', title: 'Run make test', operation: 'execute', input: { command: 'make test' } },
    choices: ['allow_once', 'allow_always', 'reject_once'],
  });
  await witness.event('state', (event) => event.state === 'requires_action');
  expect(link.snapshot()).toMatchObject({ turn: 'requires_action', permissions: [permission] });
  const refused = await link.prompt('p2', 'more');
  expect(isRefused(refused) && refused.refusal.code).toBe('turn_open');
  mustOk(await link.answerPermission(permission.requestId, 'allow_once'));
  mustOk(await link.answerPermission(permission.requestId, 'allow_once'));
  await witness.event('turn-ended');
  expect(witness.text()).toBe(`${generation.record()!.agent.pid}: proceed_once`);
  expect(await witness.event('request-settled')).toEqual({
    kind: 'request-settled',
    requestId: permission.requestId,
    by: 'answer',
  });
});

test('uses ids again that the agent has used before without mixing up the requests', async () => {
  const { link, witness } = await world.open('asks-permission');
  for (const promptId of ['p1', 'p2']) {
    const known = witness.events.length;
    mustOk(await link.prompt(promptId, 'go'));
    const { permission } = await witness.event('permission-asked', (event) => witness.events.indexOf(event) >= known);
    mustOk(await link.answerPermission(permission.requestId, 'reject_always'));
    await witness.event('turn-ended', (event) => event.promptId === promptId);
  }
  expect(witness.text()).toMatch(/: no\d+: no$/);
  const unknown = await link.answerPermission('0@999999', 'allow_once');
  expect(isRefused(unknown) && unknown.refusal.code).toBe('request_unknown');
});

test('a question comes with its schema and is answered with content (elicitation)', async () => {
  const { link, witness } = await world.open('asks-question');
  mustOk(await link.prompt('p1', 'go'));
  const { question } = await witness.event('question-asked');
  expect(question).toMatchObject({ text: 'Which rounding?', schema: { required: ['rounding'] } });
  mustOk(await link.answerQuestion(question.requestId, { action: 'accept', content: { rounding: 'half up' } }));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('accept: {"rounding":"half up"}');
});

test('cancels a turn: open requests are answered with cancelled and the next prompt works', async () => {
  const { link, witness } = await world.open('asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  const { permission } = await witness.event('permission-asked');
  await link.cancelTurn();
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'cancelled' } });
  const late = await link.answerPermission(permission.requestId, 'allow_once');
  expect(isRefused(late) && late.refusal.code).toBe('request_settled');
  mustOk(await link.prompt('p2', 'again'));
});

test('a mode that does not read back as set stops the start (START_FAILED: unsafe mode, decision 3)', async () => {
  const { witness } = await world.attach(await world.start(fakeAgent('unsafe-mode')), {
    pace: { modeReadBackMs: 200 },
  });
  expect(await witness.event('start-failed')).toMatchObject({ code: 'unsafe_mode' });
  expect(witness.events.some((event) => event.kind === 'opened')).toBe(false);
});

test('a mode that the agent does not have stops the start at once', async () => {
  const profile = fakeProfile({ mode: 'strict' });
  const { witness } = await world.attach(await world.start(fakeAgent('answers')), { profile });
  expect(await witness.event('start-failed')).toMatchObject({
    code: 'unsafe_mode',
    message: expect.stringContaining('it offers auto, default'),
  });
});

test('answers -32601 to what was not declared and goes on (fs/write_text_file, trap 7)', async () => {
  const { link, witness } = await world.open('calls-fs');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  expect(await witness.event('request-refused')).toEqual({ kind: 'request-refused', method: 'fs/write_text_file' });
  expect(witness.text()).toBe('got -32601');
});

test('lines that are no frames are noise and disturb nothing', async () => {
  const { link, witness } = await world.open('writes-non-json');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  const noise = witness.events.flatMap((event) => (event.kind === 'noise' ? [event.text] : []));
  expect(noise).toEqual(['Starting… (update available)', '', '[1,2]', '(node:1) Warning: something']);
  expect(witness.text()).toBe('still here');
});

test('a character that two writes share arrives whole (field case 52)', async () => {
  const { link, witness } = await world.open('splits-characters');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('naïve — 日本語 🦊');
});

test('12 MB frames pass both ways', async () => {
  const { link, witness } = await world.open('huge-frame');
  mustOk(await link.prompt('p1', 'x'.repeat(12 * 1024 * 1024)));
  await witness.event('turn-ended');
  expect(witness.text().length).toBe(`prompt of ${12 * 1024 * 1024}`.length + 6 * 1024 * 1024);
});

test('a flood comes complete and in order, in bounded batches', async () => {
  const { link, witness } = await world.open('floods');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  const numbers = witness.events.flatMap((event) =>
    event.kind === 'message' ? [Number(event.text.slice(0, event.text.indexOf(' ')))] : [],
  );
  expect(numbers).toEqual(Array.from({ length: 3_000 }, (_, piece) => piece));
});

test('a failed turn tells the provider’s limit and until when (design 7)', async () => {
  const { link, witness } = await world.open('reaches-limit');
  mustOk(await link.prompt('p1', 'go'));
  const limit = await witness.event('limit');
  expect(limit).toMatchObject({ reason: 'usage', asserted: false });
  expect(limit.untilMs).toBeGreaterThan(Date.now() + 60_000);
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { error: { code: -32603 } } });
});

test('resumes a conversation where the agent declares that it can', async () => {
  const { witness } = await world.attach(await world.start(fakeAgent('answers')), {
    resume: { conversationId: 's-9' },
  });
  expect(await witness.event('opened')).toMatchObject({ conversationId: 's-9', isResumed: true });
});

test('an agent that exits at once tells its code and its last words', async () => {
  const { witness } = await world.attach(await world.start(fakeAgent('exits-at-once')));
  expect(await witness.flag('exited')).toMatchObject({
    cause: 'exit-status',
    code: 3,
    isAfterLatch: false,
    stderrTail: 'no licence found\n',
  });
  expect(witness.events).toEqual([]);
});

test('a program that speaks no ACP is never seen as a peer; what it prints is shown', async () => {
  const { witness, link } = await world.attach(await world.start(fakeAgent('speaks-no-acp')));
  expect(await witness.event('noise')).toEqual({ kind: 'noise', text: 'Welcome to some other program!' });
  expect(link.snapshot().phase).toBe('opening');
});

test('an agent that dies in its turn ends it without an end: what it said stays, its torn frame is noise', async () => {
  const { link, witness } = await world.open('dies-in-turn');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 137 });
  expect(witness.text()).toBe('so far');
  expect(witness.events.some((event) => event.kind === 'turn-ended')).toBe(false);
  expect(await witness.event('noise')).toMatchObject({ text: '{"jsonrpc":"2.0","method":"session/upda' });
});

test('an agent that dies while it asks closes its question (S-41, field case 2)', async () => {
  const { link, witness, generation } = await world.open('asks-question');
  mustOk(await link.prompt('p1', 'go'));
  const { question } = await witness.event('question-asked');
  process.kill(generation.record()!.agent.pid, 'SIGKILL');
  await witness.flag('exited');
  expect(await witness.event('request-settled')).toMatchObject({ requestId: question.requestId, by: 'end' });
  const late = await link.answerQuestion(question.requestId, { action: 'decline' });
  expect(isRefused(late) && late.refusal.code).toBe('request_settled');
});

test('a batch that could not be applied is given again, whole', async () => {
  const generation = await world.start(fakeAgent('answers'));
  const { witness, link } = await world.attach(generation);
  await witness.event('opened');
  const apply = witness.apply.bind(witness);
  let refusals = 1;
  witness.apply = async (batch) => {
    refusals -= 1;
    if (refusals >= 0) throw new Error('the database is busy');
    return apply(batch);
  };
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  expect(witness.faults).toHaveLength(1);
  expect(witness.text()).toBe('heard: go');
});
