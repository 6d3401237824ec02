import { readFileSync } from 'node:fs';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, fakeProfileOf } from '../../../../test/agents/agent-world.ts';
import { isRefused, mustOk, newId } from '../../../kernel/index.ts';
import type { Generation } from '../../host/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

const mcpServers = [{ name: 'chantier', command: '/bin/bridge', args: ['mcp'], env: { CHANTIER_TOKEN: 'secret' } }];

// oxlint-disable-next-line typescript/no-explicit-any -- frames of a foreign protocol
type Frame = Record<string, any>;

function framesIn(generation: Generation): Frame[] {
  return readFileSync(generation.files.inbox, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Frame);
}

test('opens by initialize, our MCP servers, then the mode set and read back; the session is known with its first turn', async () => {
  const { link, witness, generation } = await world.open('claude-answers', { mcpServers });
  expect(witness.events.slice(0, 2)).toEqual([
    { kind: 'peer-seen', agentName: 'claude-code', agentVersion: '9.9.9' },
    { kind: 'opened', conversationId: null, mode: 'default', isResumed: false },
  ]);
  const requests = framesIn(generation).map((frame) => frame.request?.subtype);
  expect(requests.slice(0, 3)).toEqual(['initialize', 'mcp_set_servers', 'set_permission_mode']);
  expect(framesIn(generation)[1]?.request.servers.chantier).toMatchObject({
    command: '/bin/bridge',
    env: { CHANTIER_TOKEN: 'secret' },
  });
  mustOk(await link.prompt('p1', 'hello'));
  expect(await witness.event('turn-ended')).toEqual({
    kind: 'turn-ended',
    promptId: 'p1',
    outcome: { stopReason: 'end_turn' },
  });
  expect(witness.text()).toBe('heard: hello');
  const { conversationId } = await witness.event('conversation');
  expect(conversationId).toBe('5e551011-0000-4000-8000-000000000001');
  expect(link.snapshot()).toMatchObject({ turn: 'idle', conversationId, mode: 'default' });
});

test('asks on its stdio, and no secret stands in its command line', async () => {
  const { link, witness } = await world.open('claude-answers', { mcpServers });
  mustOk(await link.prompt('p1', 'arguments'));
  await witness.event('turn-ended');
  const given = JSON.parse(witness.text()) as string[];
  expect(given.join(' ')).toBe(
    '-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio --replay-user-messages --permission-mode default',
  );
});

test('several turns in one process; usage, tokens and cost are the totals that it says (decision 7)', async () => {
  const { link, witness } = await world.open('claude-answers');
  for (const promptId of [newId<string>(), 'p2']) {
    mustOk(await link.prompt(promptId, promptId));
    await witness.event('turn-ended', (event) => event.promptId === promptId);
  }
  const usage = witness.events.filter((event) => event.kind === 'usage');
  const cost = (amount: number) => ({ amount, currency: 'USD' });
  const context = { kind: 'usage', usedTokens: 1_234, contextTokens: 200_000 };
  expect(usage).toEqual([
    { ...context, cost: cost(0.25) },
    { ...context, cost: cost(0.5) },
  ]);
  expect(await witness.event('tokens')).toEqual({ kind: 'tokens', input: 1_250, output: 40, cached: 200 });
});

test('resumes by --resume and keeps the conversation', async () => {
  const { link, witness } = await world.open('claude-answers', { resume: { conversationId: 's-9' } });
  expect(await witness.event('opened')).toMatchObject({ conversationId: 's-9', isResumed: true });
  mustOk(await link.prompt('p1', 'arguments'));
  await witness.event('turn-ended');
  expect(witness.text()).toContain('"--resume","s-9"');
  expect(witness.events.some((event) => event.kind === 'conversation')).toBe(false);
});

test('a conversation that it does not know stops the start (cannot_resume)', async () => {
  const resume = { conversationId: 's-9' };
  const generation = await world.start(fakeAgent('claude-cannot-resume', {}, { resume: 's-9' }));
  const { witness } = await world.attach(generation, { profile: fakeProfileOf('claude-cannot-resume'), resume });
  expect(await witness.event('start-failed')).toMatchObject({
    code: 'cannot_resume',
    message: 'the agent did not start: No conversation found with session ID: s-9',
  });
  expect(await witness.flag('exited')).toMatchObject({ code: 1 });
});

test.each([
  ['claude-unsafe-mode', 'the agent says auto'],
  ['claude-silent-mode', 'never read back'],
])('%s: START_FAILED, unsafe mode (decision 3)', async (name, words) => {
  const profile = fakeProfileOf(name);
  const { witness } = await world.attach(await world.start(fakeAgent(name)), {
    profile,
    pace: { modeReadBackMs: 200 },
  });
  expect(await witness.event('start-failed')).toMatchObject({
    code: 'unsafe_mode',
    message: expect.stringContaining(words),
  });
  expect(witness.events.some((event) => event.kind === 'opened')).toBe(false);
});

test('a mode that a later system/init says otherwise is told as unsafe', async () => {
  const { link, witness } = await world.open('claude-changes-mode');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('mode-changed')).toEqual({
    kind: 'mode-changed',
    mode: 'bypassPermissions',
    isSafe: false,
  });
});

test('another working directory than its own is told before it does anything (field case 62)', async () => {
  const { link, witness } = await world.open('claude-elsewhere');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('start-failed')).toMatchObject({
    code: 'protocol',
    message: expect.stringContaining('the agent works in /somewhere/else'),
  });
});

test('without our own tools the start fails', async () => {
  const profile = fakeProfileOf('claude-refuses-server');
  const generation = await world.start(fakeAgent('claude-refuses-server'));
  const { witness } = await world.attach(generation, { profile, mcpServers });
  expect(await witness.event('start-failed')).toMatchObject({
    code: 'refused',
    message: 'the tool server chantier did not start: spawn ENOENT',
  });
});

test('a permission: asked with its call, allowed with the input that was asked for, answered once', async () => {
  const { link, witness, generation } = await world.open('claude-asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  const { permission } = await witness.event('permission-asked');
  expect(permission).toMatchObject({
    choices: ['allow_once', 'reject_once'],
    call: { tool: 'Bash', operation: 'execute', title: 'make test', input: { command: 'make test' } },
  });
  expect(link.snapshot().turn).toBe('requires_action');
  expect(await link.answerPermission(permission.requestId, 'allow_always')).toMatchObject({ ok: false });
  mustOk(await link.answerPermission(permission.requestId, 'allow_once'));
  mustOk(await link.answerPermission(permission.requestId, 'allow_once'));
  await witness.event('turn-ended');
  expect(witness.text()).toContain('allow {"command":"make test","description":"Run the tests"}');
  expect(await witness.event('request-settled')).toMatchObject({ requestId: permission.requestId, by: 'answer' });
  expect(framesIn(generation).filter((frame) => frame.type === 'control_response')).toHaveLength(1);
  // It repeats our answers on its stdout; that asks nothing and answers nothing.
  expect(witness.events.filter((event) => event.kind === 'permission-asked')).toHaveLength(1);
});

test('a rejected permission is told to the model and the turn goes on', async () => {
  const { link, witness } = await world.open('claude-asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  const { permission } = await witness.event('permission-asked');
  mustOk(await link.answerPermission(permission.requestId, 'reject_once'));
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'end_turn' } });
  expect(witness.text()).toContain('deny "Not permitted.');
});

test('its question comes with a form, and is answered question by question', async () => {
  const { link, witness } = await world.open('claude-asks-question');
  mustOk(await link.prompt('p1', 'go'));
  const { question } = await witness.event('question-asked');
  expect(question.text).toContain('1. Which rounding?\n- half up: half up it is');
  expect(question.schema).toMatchObject({
    properties: {
      question_1: { type: 'string', oneOf: [{ const: 'half up' }, { const: 'half even' }] },
      question_2: { type: 'array', items: { oneOf: [{ const: 'S' }, { const: 'M' }, { const: 'L' }] } },
    },
  });
  const content = { question_1: 'half even', question_2: ['S', 'L'] };
  mustOk(await link.answerQuestion(question.requestId, { action: 'accept', content }));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('allow: {"Which rounding?":"half even","Which sizes?":"S, L"}');
});

test('a declined question lets the agent decide by itself', async () => {
  const { link, witness } = await world.open('claude-asks-question');
  mustOk(await link.prompt('p1', 'go'));
  const { question } = await witness.event('question-asked');
  mustOk(await link.answerQuestion(question.requestId, { action: 'decline' }));
  await witness.event('turn-ended');
  expect(witness.text()).toContain('deny: "Nobody answers this question.');
});

test('what nobody serves is refused, forms of MCP servers are asked', async () => {
  const { link, witness } = await world.open('claude-asks-more');
  mustOk(await link.prompt('p1', 'go'));
  expect(await witness.event('request-refused')).toEqual({ kind: 'request-refused', method: 'hook_callback' });
  const { question } = await witness.event('question-asked');
  mustOk(await link.answerQuestion(question.requestId, { action: 'accept', content: { name: 'Ada' } }));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('[{"error":"not served by this client"},{"action":"accept","content":{"name":"Ada"}}]');
});

test('an interrupt ends the turn as cancelled, closes what was asked, and the next prompt works', async () => {
  const { link, witness } = await world.open('claude-asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  const { permission } = await witness.event('permission-asked');
  await link.cancelTurn();
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'cancelled' } });
  await witness.event('request-settled');
  const late = await link.answerPermission(permission.requestId, 'allow_once');
  expect(isRefused(late) && late.refusal.code).toBe('request_settled');
  mustOk(await link.prompt('p2', 'again'));
  await witness.event('permission-asked', (event) => event.permission.requestId !== permission.requestId);
});

test('a prompt that is cancelled in its queue ends without a result', async () => {
  const { link, witness } = await world.open('claude-thinks-long');
  mustOk(await link.prompt('p1', 'go'));
  // Repeated only when the model answers; that it was read is proven before.
  expect(await witness.event('prompt-verdict')).toMatchObject({ promptId: 'p1', verdict: 'delivered' });
  await link.cancelTurn();
  expect(await witness.event('turn-ended')).toMatchObject({ promptId: 'p1', outcome: { stopReason: 'cancelled' } });
});

test('the end of a turn that it began by itself does not end the turn of a prompt', async () => {
  const { link, witness } = await world.open('claude-background-turn');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('turn-ended');
  expect(witness.text()).toBe('the background task is done; and this is your answer');
  expect(witness.events.filter((event) => event.kind === 'turn-ended')).toHaveLength(1);
});

const inAnHour = Math.floor(Date.now() / 1000) + 3_600;

test.each([
  ['529', { api_error_status: 529, result: 'API Error: 529 Overloaded.' }, { reason: 'rate', asserted: true }],
  ['429', { api_error_status: 429, result: 'API Error: Request rejected (429)' }, { reason: 'rate', asserted: true }],
  ['no credit', { api_error_status: 400, result: 'Credit balance is too low' }, { reason: 'billing', asserted: false }],
  ['a wrong key', { api_error_status: 401, result: 'Invalid API key' }, { reason: 'auth', asserted: true }],
  [
    'the usage limit',
    { api_error_status: 429, result: `Claude AI usage limit reached|${inAnHour}` },
    { reason: 'usage', asserted: true, untilMs: inAnHour * 1000 },
  ],
  [
    'a used-up window',
    { api_error_status: 429, result: 'limit', event: { status: 'rejected', resetsAt: inAnHour } },
    { reason: 'usage', asserted: true, untilMs: inAnHour * 1000 },
  ],
])('%s is a failed turn with a limit, though its result says success (trap: is_error alone counts)', async (...row) => {
  const [, members, limit] = row;
  const { link, witness } = await world.open('claude-api-fails');
  mustOk(await link.prompt('p1', JSON.stringify(members)));
  expect(await witness.event('turn-ended')).toMatchObject({
    outcome: { error: { code: members.api_error_status, message: members.result } },
  });
  expect(witness.events.filter((event) => event.kind === 'limit')).toEqual([{ kind: 'limit', ...limit }]);
  const retry = `the model API failed (${members.api_error_status}); attempt 1 of 2`;
  expect(await witness.event('noise')).toEqual({ kind: 'noise', text: retry });
});

test('another failure of the API is a failed turn without a limit', async () => {
  const { link, witness } = await world.open('claude-api-fails');
  mustOk(
    await link.prompt('p1', JSON.stringify({ api_error_status: 500, result: 'API Error: Internal server error' })),
  );
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { error: { code: 500 } } });
  expect(witness.events.some((event) => event.kind === 'limit')).toBe(false);
});

test('an agent that dies while it asks closes its question (S-41, field case 2)', async () => {
  const { link, witness, generation } = await world.open('claude-asks-question');
  mustOk(await link.prompt('p1', 'go'));
  const { question } = await witness.event('question-asked');
  process.kill(generation.record()!.agent.pid, 'SIGKILL');
  expect(await witness.flag('exited')).toMatchObject({ code: 137, isAfterLatch: false });
  expect(await witness.event('request-settled')).toMatchObject({ requestId: question.requestId, by: 'end' });
  expect(witness.events.some((event) => event.kind === 'turn-ended')).toBe(false);
});

test('an ordered stop answers what is open, ends the turn before the latch and leaves nothing (decision 5)', async () => {
  const { link, witness } = await world.open('claude-asks-permission');
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('permission-asked');
  const report = await link.stop();
  expect(report).toMatchObject({ endedBy: 'end-of-input', survivors: [] });
  expect(await witness.flag('exited')).toMatchObject({ code: 0, isAfterLatch: true });
  expect(await witness.event('turn-ended')).toMatchObject({ outcome: { stopReason: 'cancelled' } });
});

test('pings are answered, so that a hang is seen (decision 4)', async () => {
  const pace = { pingInTurnMs: 50, unresponsiveAfterMs: 200 };
  const { link, witness, generation } = await world.open('claude-asks-permission', { pace });
  mustOk(await link.prompt('p1', 'go'));
  await witness.event('permission-asked');
  await witness.event('prompt-verdict', (event) => event.verdict === 'delivered');
  const { pid } = generation.record()!.agent;
  process.kill(pid, 'SIGSTOP');
  await witness.flag('unresponsive');
  process.kill(pid, 'SIGCONT');
  await witness.flag('responsive');
});
