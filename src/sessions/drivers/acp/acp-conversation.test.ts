import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { mustOk } from '../../../kernel/index.ts';
import type { DriverEvent } from '../driver-event.ts';
import { AcpConversation } from './acp-conversation.ts';
import type { OpeningOptions } from './opening.ts';
import { parseFrame } from './rpc-frame.ts';

const options: OpeningOptions = {
  cwd: '/work',
  mcpServers: [],
  mode: null,
  resumeId: null,
  modeEcho: null,
  sessionMeta: {},
};

/** A conversation with both of its files in memory. */
class Talk {
  readonly conversation: AcpConversation;
  readonly inbox: string[] = [];
  readonly journal: string[] = [];
  readonly events: DriverEvent[] = [];

  constructor(changes: Partial<OpeningOptions> = {}) {
    this.conversation = new AcpConversation({ ...options, ...changes }, () => 0);
  }

  send(...frames: string[]): void {
    for (const frame of frames) {
      this.inbox.push(frame);
      this.events.push(...this.conversation.sent(parseFrame(Buffer.from(frame))));
    }
  }

  sendDue(): void {
    this.send(...this.conversation.dueFrames());
  }

  hear(frame: Record<string, unknown>): void {
    const line = JSON.stringify({ jsonrpc: '2.0', ...frame });
    const start = this.journal.reduce((sum, each) => sum + Buffer.byteLength(each) + 1, 0);
    this.journal.push(line);
    this.events.push(...this.conversation.received(parseFrame(Buffer.from(line)), start));
    this.sendDue();
  }

  /** What a new server knows after it has read both files, `in.ndjson` first. */
  replay(changes: Partial<OpeningOptions> = {}): AcpConversation {
    const again = new AcpConversation({ ...options, ...changes }, () => 0);
    for (const frame of this.inbox) again.sent(parseFrame(Buffer.from(frame)));
    let start = 0;
    for (const line of this.journal) {
      again.received(parseFrame(Buffer.from(line)), start);
      start += Buffer.byteLength(line) + 1;
    }
    return again;
  }
}

function openTalk(): Talk {
  const talk = new Talk();
  talk.sendDue();
  talk.hear({ id: 1, result: { protocolVersion: 1, agentCapabilities: {} } });
  talk.hear({ id: 2, result: { sessionId: 's' } });
  expect(talk.conversation.opening.isOpen).toBe(true);
  return talk;
}

const stateOf = (conversation: AcpConversation) => ({
  turn: conversation.turn,
  asked: conversation.asked(),
  prompts: conversation.prompts.all().map(({ promptId, outcome }) => ({ promptId, outcome })),
  due: conversation.dueFrames(),
  conversationId: conversation.opening.conversationId,
});

/** One step of a session: what either side may do, whether or not it makes sense just then. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('prompt' as const) }),
  fc.record({ kind: fc.constant('end' as const) }),
  fc.record({ kind: fc.constant('permission' as const), id: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('question' as const), id: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('unknown' as const), id: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('withdraw' as const), id: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('answer' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('cancel' as const) }),
  fc.record({ kind: fc.constant('chunk' as const) }),
);

function take(talk: Talk, each: typeof step extends fc.Arbitrary<infer S> ? S : never, turn: number): void {
  const { conversation } = talk;
  const open = conversation.prompts.open();
  const asked = conversation.asked();
  switch (each.kind) {
    case 'prompt':
      if (!open) talk.send(...conversation.promptFrames(`p${turn}`, 'go'));
      return;
    case 'end':
      if (open) talk.hear({ id: open.callId, result: { stopReason: 'end_turn' } });
      return;
    case 'permission': {
      const waits = asked.some((one) => JSON.stringify(one).includes(`"${each.id}@`));
      const toolCall = { toolCallId: `t${turn}` };
      const choices = [{ optionId: 'x', kind: 'allow_once' }];
      if (!waits)
        talk.hear({ id: each.id, method: 'session/request_permission', params: { toolCall, options: choices } });
      return;
    }
    case 'question': {
      const waits = asked.some((one) => JSON.stringify(one).includes(`"${each.id}@`));
      if (!waits) talk.hear({ id: each.id, method: 'elicitation/create', params: { message: `q${turn}` } });
      return;
    }
    case 'unknown':
      if (!asked.some((one) => JSON.stringify(one).includes(`"${each.id}@`)))
        talk.hear({ id: each.id, method: 'fs/read_text_file', params: {} });
      return;
    case 'withdraw':
      talk.hear({ method: '$/cancel_request', params: { requestId: each.id } });
      return;
    case 'answer': {
      const one = asked[each.which];
      if (!one) return;
      const frame =
        'permission' in one
          ? conversation.permissionFrame(one.permission.requestId, 'allow_once')
          : conversation.questionFrame(one.question.requestId, { action: 'decline' });
      talk.send(mustOk(frame)!);
      return;
    }
    case 'cancel':
      talk.send(...conversation.cancelFrames());
      return;
    case 'chunk': {
      const content = { type: 'text', text: 'x' };
      talk.hear({ method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk', content } } });
    }
  }
}

test('both files read anew give the state that was lived, ids used again included (decision 6)', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const talk = openTalk();
      steps.forEach((each, turn) => take(talk, each, turn));
      expect(stateOf(talk.replay())).toEqual(stateOf(talk.conversation));
      // Every request of the agent is open or was settled exactly once.
      const settled = talk.events.flatMap((event) => (event.kind === 'request-settled' ? [event.requestId] : []));
      expect(new Set(settled).size).toBe(settled.length);
    }),
    { numRuns: 300 },
  );
});

test('an update that stood before the response on the wire is told before it (defect 1 of the SDK)', () => {
  const talk = openTalk();
  talk.send(...talk.conversation.promptFrames('p', 'go'));
  const content = { type: 'text', text: 'last words' };
  talk.hear({ method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk', content } } });
  talk.hear({ id: talk.conversation.prompts.open()!.callId, result: { stopReason: 'end_turn' } });
  expect(talk.events.map((event) => event.kind).slice(-4)).toEqual([
    'prompt-verdict',
    'message',
    'turn-ended',
    'state',
  ]);
});

test('a request that the agent takes back is closed and still answered (-32800)', () => {
  const talk = openTalk();
  talk.hear({ id: 7, method: 'elicitation/create', params: { message: 'q' } });
  talk.hear({ method: '$/cancel_request', params: { requestId: 7 } });
  expect(talk.conversation.asked()).toEqual([]);
  expect(JSON.parse(talk.inbox.at(-1)!)).toMatchObject({ id: 7, error: { code: -32800 } });
  expect(talk.events).toContainEqual({ kind: 'request-settled', requestId: expect.any(String), by: 'agent' });
});

test('declares neither files nor terminals, but forms, and passes the MCP servers on (design 4)', () => {
  const talk = new Talk({
    mcpServers: [{ name: 'chantier', command: '/bin/chantier', args: ['mcp'], env: { A: 'b' } }],
  });
  talk.sendDue();
  talk.hear({ id: 1, result: { protocolVersion: 1 } });
  const [initialize, session] = talk.inbox.map((frame) => JSON.parse(frame) as { params: Record<string, unknown> });
  expect(initialize!.params.clientCapabilities).toEqual({
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    elicitation: { form: {} },
  });
  expect(session!.params).toEqual({
    cwd: '/work',
    mcpServers: [{ name: 'chantier', command: '/bin/chantier', args: ['mcp'], env: [{ name: 'A', value: 'b' }] }],
  });
});

test('loads a conversation where resuming is not declared, and marks its history as replayed', () => {
  const talk = new Talk({ resumeId: 'old' });
  talk.sendDue();
  talk.hear({ id: 1, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  expect(JSON.parse(talk.inbox.at(-1)!)).toMatchObject({ method: 'session/load', params: { sessionId: 'old' } });
  const content = { type: 'text', text: 'history' };
  talk.hear({ method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk', content } } });
  talk.hear({ id: 2, result: {} });
  expect(talk.events.slice(-2)).toMatchObject([
    { kind: 'message', replayed: true },
    { kind: 'opened', conversationId: 'old', isResumed: true },
  ]);
});

test.each([
  ['a refused initialize', { id: 1, error: { code: -32603, message: 'no' } }, 'protocol'],
  ['another protocol version', { id: 1, result: { protocolVersion: 2 } }, 'protocol'],
  ['a log-in that is missing', { id: 1, error: { code: -32000, message: 'auth' } }, 'auth_required'],
])('says why the start failed: %s', (_, response, code) => {
  const talk = new Talk();
  talk.sendDue();
  talk.hear(response);
  expect(talk.events).toMatchObject([{ kind: 'start-failed', code }]);
  expect(talk.conversation.dueFrames()).toEqual([]);
});

const wantsLogIn = { error: { code: -32000, message: 'Authentication required' } };
const named = (...ids: string[]) => ({ protocolVersion: 1, authMethods: ids.map((id) => ({ id, name: id })) });
const methods = (talk: Talk): string[] =>
  talk.inbox.map((frame) => (JSON.parse(frame) as { method: string }).method).filter((name) => !name.startsWith('_'));

test('takes a stored log-in by the method that needs nobody, once, and asks for its session again', () => {
  const talk = new Talk({ authMethod: 'oauth-personal' });
  talk.sendDue();
  talk.hear({ id: 1, result: named('gemini-api-key', 'oauth-personal') });
  talk.hear({ id: 2, ...wantsLogIn });
  expect(JSON.parse(talk.inbox.at(-1)!)).toMatchObject({
    method: 'authenticate',
    params: { methodId: 'oauth-personal' },
  });
  talk.hear({ id: 3, result: {} });
  talk.hear({ id: 4, result: { sessionId: 's-1' } });
  expect(talk.events.at(-1)).toMatchObject({ kind: 'opened', conversationId: 's-1' });
  expect(methods(talk)).toEqual(['initialize', 'session/new', 'authenticate', 'session/new']);
  expect(talk.replay({ authMethod: 'oauth-personal' }).dueFrames()).toEqual([]);
});

test.each([
  ['no method is known to need nobody', {}, ['oauth-personal'], 2],
  ['the agent does not name it', { authMethod: 'oauth-personal' }, ['gemini-api-key'], 2],
])('a log-in that is missing is said with what to run, and no browser is opened: %s', (_, options, ids, id) => {
  const talk = new Talk({ ...options, logIn: '`gemini` and log in' });
  talk.sendDue();
  talk.hear({ id: 1, result: named(...ids) });
  talk.hear({ id, ...wantsLogIn });
  expect(talk.events.at(-1)).toMatchObject({
    kind: 'start-failed',
    code: 'auth_required',
    message: 'not logged in: run `gemini` and log in (session/new: Authentication required, -32000)',
  });
  expect(methods(talk)).not.toContain('authenticate');
});

test('a stored log-in that the agent does not take is tried once only', () => {
  const talk = new Talk({ authMethod: 'oauth-personal' });
  talk.sendDue();
  talk.hear({ id: 1, result: named('oauth-personal') });
  talk.hear({ id: 2, ...wantsLogIn });
  talk.hear({ id: 3, result: {} });
  talk.hear({ id: 4, ...wantsLogIn });
  expect(talk.events.at(-1)).toMatchObject({ kind: 'start-failed', code: 'auth_required' });
  expect(methods(talk).filter((name) => name === 'authenticate')).toHaveLength(1);
});

test('the window of a subscription that Claude Code’s adapter tells beside its usage is a limit with its end (design 7)', () => {
  const talk = new Talk();
  const tell = (info: unknown): void =>
    talk.hear({
      method: 'session/update',
      params: {
        update: { sessionUpdate: 'usage_update', used: 1, size: 2, _meta: { '_claude/rateLimit': info } },
      },
    });
  tell({ status: 'allowed_warning', resetsAt: 1_800_000_000 });
  tell({ status: 'rejected', resetsAt: 1_800_000_000, isUsingOverage: true });
  expect(talk.events.filter(({ kind }) => kind === 'limit')).toEqual([]);
  tell({ status: 'rejected', resetsAt: 1_800_000_000, rateLimitType: 'five_hour' });
  expect(talk.events.at(-1)).toEqual({ kind: 'limit', reason: 'usage', untilMs: 1_800_000_000_000, asserted: true });
});

test('says when a conversation cannot be resumed', () => {
  const talk = new Talk({ resumeId: 'old' });
  talk.sendDue();
  talk.hear({ id: 1, result: { protocolVersion: 1, agentCapabilities: {} } });
  expect(talk.events.at(-1)).toMatchObject({ kind: 'start-failed', code: 'cannot_resume' });
});

test('takes a mode as confirmed by the message that an agent is known to say, only while it is set', () => {
  const talk = new Talk({ mode: 'plan', modeEcho: '[MODE] ' });
  const modes = { currentModeId: 'yolo', availableModes: [{ id: 'yolo' }, { id: 'plan' }] };
  const say = (text: string): void =>
    talk.hear({
      method: 'session/update',
      params: { update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
    });
  talk.sendDue();
  talk.hear({ id: 1, result: { protocolVersion: 1 } });
  talk.hear({ id: 2, result: { sessionId: 's', modes } });
  say('[MODE] plan');
  expect(talk.conversation.opening.isOpen).toBe(true);
  say('[MODE] yolo');
  expect(talk.conversation.opening.mode).toBe('plan');
});

test('never widens what was decided: an allow-always option does not serve a single yes', () => {
  const talk = openTalk();
  const choices = [{ optionId: 'a', kind: 'allow_always' }];
  talk.hear({ id: 0, method: 'session/request_permission', params: { toolCall: {}, options: choices } });
  const [asked] = talk.conversation.asked();
  const requestId = asked && 'permission' in asked ? asked.permission.requestId : '';
  expect(talk.conversation.permissionFrame(requestId, 'allow_once')).toMatchObject({
    ok: false,
    refusal: { code: 'choice_not_offered' },
  });
  expect(JSON.parse(mustOk(talk.conversation.permissionFrame(requestId, 'reject_once'))!)).toMatchObject({
    result: { outcome: { outcome: 'cancelled' } },
  });
});

test('tells usage and a changed mode', () => {
  const talk = openTalk();
  const update = { sessionUpdate: 'usage_update', used: 10, size: 200, cost: { amount: 0.5, currency: 'USD' } };
  talk.hear({ method: 'session/update', params: { update } });
  expect(talk.events.at(-1)).toEqual({
    kind: 'usage',
    usedTokens: 10,
    contextTokens: 200,
    cost: { amount: 0.5, currency: 'USD' },
  });
});
