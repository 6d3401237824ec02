// A small headless Claude Code for tests (stream-json both ways, control requests): what is common to the fakes of it. As the
// real one it says its mode and its session only with a turn, repeats a prompt when the model begins to answer and not when
// it reads it, repeats our control responses on stdout, and answers unknown control requests with an error at any time.
import { createInterface } from 'node:readline';

const argumentOf = (name) => process.argv[process.argv.indexOf(name) + 1 || process.argv.length];
export const sessionId = argumentOf('--resume') ?? '5e551011-0000-4000-8000-000000000001';
export const state = { mode: argumentOf('--permission-mode') ?? 'auto', interrupted: false, turns: 0 };

export function send(frame) {
  process.stdout.write(`${JSON.stringify(frame)}\n`);
}

const waiting = new Map();
let nextRequest = 1;

/** Sends a control request; resolves to its answer, or to `undefined` when an interrupt took it back. */
export function ask(request) {
  const id = `request-${nextRequest}`;
  nextRequest += 1;
  send({ type: 'control_request', request_id: id, request });
  return new Promise((resolve) => waiting.set(id, resolve));
}

export function askTool(name, input) {
  return ask({ subtype: 'can_use_tool', tool_name: name, display_name: name, input, tool_use_id: 'toolu_1' });
}

export function say(text) {
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 200, output_tokens: 34 };
  const message = { id: 'msg_1', model: 'fake', role: 'assistant', content: [{ type: 'text', text }], usage };
  send({ type: 'assistant', message, parent_tool_use_id: null, session_id: sessionId });
}

export function init(extra = {}) {
  const cwd = process.cwd();
  send({
    type: 'system',
    subtype: 'init',
    cwd,
    session_id: sessionId,
    permissionMode: state.mode,
    tools: [],
    ...extra,
  });
}

export function replay(prompt) {
  send({ ...prompt, session_id: sessionId, isReplay: true });
}

/** The result of a turn; members may be overridden. `prompt` left out: as older versions, which name none. */
export function result(prompt, members = {}) {
  state.turns += 1;
  send({
    duration_ms: 5,
    type: 'result',
    subtype: 'success',
    is_error: false,
    terminal_reason: 'completed',
    stop_reason: 'end_turn',
    result: 'done',
    session_id: sessionId,
    total_cost_usd: 0.25 * state.turns,
    modelUsage: {
      fake: { inputTokens: 1_000, cacheReadInputTokens: 200, outputTokens: 34, contextWindow: 200_000 },
      small: { inputTokens: 50, outputTokens: 6, contextWindow: 100_000 },
    },
    permission_denials: [],
    ...(prompt ? { user_message_uuid: prompt.uuid, user_message_uuids: [prompt.uuid] } : {}),
    ...members,
  });
}

/** Members of the result of a turn that was cut. */
export const aborted = {
  subtype: 'error_during_execution',
  is_error: true,
  terminal_reason: 'aborted_streaming',
  errors: ['[diagnostic]'],
};

export const textOf = (prompt) => prompt.message.content.map((block) => block.text ?? '').join('');

const respond = (id, response) =>
  send({ type: 'control_response', response: { subtype: 'success', request_id: id, response } });
const refuse = (id, error) => send({ type: 'control_response', response: { subtype: 'error', request_id: id, error } });

const defaults = {
  initialize: () => ({ commands: [], claude_code_version: '9.9.9', current_permission_mode: state.mode }),
  mcp_set_servers: ({ servers }) => ({ added: Object.keys(servers), removed: [], errors: {} }),
  set_permission_mode: ({ mode }) => {
    state.mode = mode;
    return { mode };
  },
  interrupt: () => {
    state.interrupted = true;
    for (const [id, resolve] of waiting) {
      waiting.delete(id);
      send({ type: 'control_cancel_request', request_id: id });
      resolve(undefined);
    }
    return { still_queued: [], cancelled: [] };
  },
};

/** Serves until stdin ends. `turn(prompt)` runs for each prompt; `controls`: subtype -> answer, instead of the defaults. */
export function serve(turn, controls = {}) {
  const all = { ...defaults, ...controls };
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', (line) => {
    const frame = JSON.parse(line);
    if (frame.type === 'user') {
      state.interrupted = false;
      void turn(frame);
    } else if (frame.type === 'control_response') {
      send(frame);
      const { request_id: id, response, error } = frame.response;
      waiting.get(id)?.(response ?? { error });
      waiting.delete(id);
    } else if (frame.type === 'control_request') {
      const { subtype } = frame.request;
      const answer = all[subtype];
      if (answer) respond(frame.request_id, answer(frame.request));
      else refuse(frame.request_id, `Unsupported control request subtype: ${subtype}`);
    }
  });
  lines.on('close', () => process.exit(0));
}
