/**
 * A scripted ACP agent: it speaks the protocol of a real coding agent, but what it does stands in a script and no model is
 * asked. The demo uses two of them, an author and a reviewer.
 *
 *   runScripted(async (turn) => { await turn.write('a.txt', 'hello\n'); … })
 *
 * The script is called once for each prompt. What it keeps in `turn.memory` survives in the agent's own home, so that a
 * conversation can be resumed in a new process.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { openRpc } from './json-rpc.mjs';

export function runScripted(script, { name = 'scripted-agent' } = {}) {
  const sessions = new Map();
  const rpc = openRpc(process.stdin, process.stdout, {
    end: () => process.exit(0),
    initialize: () => ({
      protocolVersion: 1,
      agentInfo: { name, version: '1.0.0' },
      agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} }, promptCapabilities: {} },
      authMethods: [],
    }),
    'session/new': (params) => open(randomUUID(), params),
    'session/load': (params) => open(params.sessionId, params),
    'session/resume': (params) => open(params.sessionId, params),
    'session/set_mode': () => ({}),
    'session/cancel': ({ sessionId }) => {
      const session = sessions.get(sessionId);
      if (session) session.cancelled = true;
    },
    'session/prompt': (params) => prompt(params),
  });

  async function open(sessionId, { cwd, mcpServers = [] }) {
    const memoryFile = join(process.env.HOME ?? cwd, '.scripted-agent', `${sessionId}.json`);
    sessions.set(sessionId, {
      id: sessionId,
      cwd,
      mcpServers,
      memoryFile,
      memory: readMemory(memoryFile),
      tools: undefined,
    });
    return { sessionId };
  }

  async function prompt({ sessionId, prompt: blocks }) {
    const session = sessions.get(sessionId);
    if (!session) throw new Error(`unknown session ${sessionId}`);
    session.cancelled = false;
    const text = blocks.map((block) => block.text ?? '').join('\n');
    await script(turnOf(rpc, session, text));
    mkdirSync(dirname(session.memoryFile), { recursive: true });
    writeFileSync(session.memoryFile, JSON.stringify(session.memory));
    const usage = session.usage === undefined ? {} : { usage: session.usage };
    return { stopReason: session.cancelled ? 'cancelled' : 'end_turn', ...usage };
  }
}

function turnOf(rpc, session, text) {
  const update = (content) => rpc.notify('session/update', { sessionId: session.id, update: content });
  return {
    text,
    cwd: session.cwd,
    memory: session.memory,
    /** Whether the turn was cancelled; a script that takes long looks now and then. */
    isCancelled: () => session.cancelled,
    say: (message) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: message } }),
    /** Says what the conversation has cost so far; `tokens` are told with the end of the turn. */
    spend({ cost, currency = 'USD', tokens }) {
      session.usage = tokens;
      if (cost !== undefined)
        update({ sessionUpdate: 'usage_update', used: 1_000, size: 200_000, cost: { amount: cost, currency } });
    },
    read: (path) => readFileSync(join(session.cwd, path), 'utf8'),
    write(path, content) {
      const file = join(session.cwd, path);
      const toolCallId = randomUUID();
      update({
        sessionUpdate: 'tool_call',
        toolCallId,
        title: `Write ${path}`,
        kind: 'edit',
        status: 'in_progress',
        locations: [{ path: file }],
      });
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' });
    },
    /** Runs a program in the work folder; throws with its output when it fails. */
    run(program, ...args) {
      const result = spawnSync(program, args, { cwd: session.cwd, encoding: 'utf8' });
      if (result.status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${result.stderr ?? result.error}`);
      return result.stdout;
    },
    commit(message) {
      this.run('git', 'add', '-A');
      this.run('git', 'commit', '-q', '-m', message);
    },
    /** Asks for permission to run a command, as a real agent does before a risky call; true when it was allowed. */
    async mayRun(command) {
      const toolCallId = randomUUID();
      const { outcome } = await rpc.request('session/request_permission', {
        sessionId: session.id,
        toolCall: {
          toolCallId,
          title: command,
          kind: 'execute',
          status: 'pending',
          rawInput: { command, cwd: session.cwd },
        },
        options: [
          { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      });
      return outcome.outcome === 'selected' && outcome.optionId === 'once';
    },
    /** Calls one of the tools that Chantier gives to its agents; the answer's text. */
    async call(tool, args = {}) {
      session.tools ??= await connectTools(session.mcpServers[0], session.cwd);
      const result = await session.tools.request('tools/call', { name: tool, arguments: args });
      const answer = (result.content ?? []).map((item) => item.text ?? '').join('\n');
      if (result.isError) throw new Error(answer);
      return answer;
    },
  };
}

async function connectTools(server, cwd) {
  if (!server) throw new Error('no MCP server was given to this session');
  const env = { ...process.env, ...Object.fromEntries((server.env ?? []).map(({ name, value }) => [name, value])) };
  const child = spawn(server.command, server.args ?? [], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const rpc = openRpc(child.stdout, child.stdin, { ping: () => ({}) });
  await rpc.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'scripted-agent', version: '1.0.0' },
  });
  rpc.notify('notifications/initialized', {});
  return rpc;
}

function readMemory(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {}; // a new conversation
  }
}
