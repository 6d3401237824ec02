// A small ACP agent over stdio for tests: what is common to the fake agents. Each of them overrides what it does differently.
// Runs with any Node >= 20.
import { createInterface } from 'node:readline';

/** Writes one frame. */
export function send(frame) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
}

const waiting = new Map();
let nextId = 0;

/** Sends a request to the client; ids start at 0 in every process, as real agents' do. */
export function ask(method, params) {
  const id = nextId;
  nextId += 1;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

export function update(sessionId, body) {
  send({ method: 'session/update', params: { sessionId, update: body } });
}

export function say(sessionId, text) {
  update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
}

export const permissionOptions = [
  { optionId: 'proceed_once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'proceed_always', name: 'Always', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

export function askPermission(sessionId, title = 'Run make test') {
  return ask('session/request_permission', {
    sessionId,
    toolCall: { toolCallId: 'call-1', title, kind: 'execute', rawInput: { command: 'make test' } },
    options: permissionOptions,
  });
}

/** The text of a prompt. */
export function textOf(params) {
  return params.prompt.map((block) => block.text ?? '').join('');
}

/**
 * Serves requests until stdin ends. `handlers`: method -> (params, frame) => result (or a promise of it); missing ones are
 * answered by the defaults below or with -32601. `onCancel(params)` takes `session/cancel`.
 */
export function serve(handlers, options = {}) {
  const all = { ...defaults, ...handlers };
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', async (line) => {
    let frame;
    try {
      frame = JSON.parse(line);
    } catch {
      options.onTornLine?.();
      send({ id: null, error: { code: -32700, message: `torn line of ${line.length} characters` } });
      return;
    }
    if (frame.method === undefined) {
      options.onAnswer?.(frame);
      const resolve = waiting.get(frame.id);
      waiting.delete(frame.id);
      resolve?.(frame.result ?? { error: frame.error });
      return;
    }
    if (frame.method === 'session/cancel') options.onCancel?.(frame.params);
    if (frame.id === undefined) return;
    const handler = all[frame.method];
    if (!handler) {
      send({ id: frame.id, error: { code: -32601, message: 'Method not found' } });
      return;
    }
    try {
      send({ id: frame.id, result: await handler(frame.params, frame) });
    } catch (error) {
      send({ id: frame.id, error: { code: error.code ?? -32603, message: error.message } });
    }
  });
  lines.on('close', () => (options.onEnd ?? (() => process.exit(0)))());
}

const modes = {
  currentModeId: 'auto',
  availableModes: [
    { id: 'auto', name: 'Auto' },
    { id: 'default', name: 'Ask' },
  ],
};

const defaults = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
    agentInfo: { name: 'fake-agent', version: '1.0.0' },
  }),
  'session/new': () => ({ sessionId: 's-1', modes }),
  'session/resume': () => ({ modes }),
  'session/set_mode': ({ sessionId, modeId }) => {
    update(sessionId, { sessionUpdate: 'current_mode_update', currentModeId: modeId });
    return {};
  },
  'session/prompt': ({ sessionId, ...params }) => {
    say(sessionId, `heard: ${textOf(params)}`);
    return { stopReason: 'end_turn' };
  },
};
