import { expect, test } from 'vitest';

import { readableEntries } from './readable-line.ts';

const read = (frame: unknown): unknown => readableEntries(JSON.stringify(frame));
const update = (fields: Record<string, unknown>): unknown =>
  read({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: fields } });

test('tells what an ACP agent says, does, asks, and how its turns end; the rest of the protocol is no text', () => {
  const chunk = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'I look' } };
  expect(update(chunk)).toEqual([{ kind: 'agent', text: 'I look', continues: true }]);
  expect(update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'cat a', status: 'pending' })).toEqual([
    { kind: 'tool', text: 'cat a (pending)' },
  ]);
  const content = [{ type: 'content', content: { type: 'text', text: 'the file' } }];
  expect(update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed', content })).toEqual([
    { kind: 'result', text: 'the file' },
  ]);
  expect(update({ sessionUpdate: 'plan', entries: [{ content: 'look', status: 'completed' }] })).toEqual([
    { kind: 'plan', text: '[x] look' },
  ]);
  const permission = {
    jsonrpc: '2.0',
    id: 0,
    method: 'session/request_permission',
    params: { toolCall: { title: 'rm' } },
  };
  expect(read(permission)).toEqual([{ kind: 'permission', text: 'rm' }]);
  expect(read({ jsonrpc: '2.0', id: 3, result: { stopReason: 'end_turn' } })).toEqual([
    { kind: 'turn', text: 'end_turn' },
  ]);
  expect(read({ jsonrpc: '2.0', id: 4, error: { code: -32601, message: 'no ping' } })).toEqual([]);
  expect(update({ sessionUpdate: 'usage_update', used: 1 })).toEqual([]);
});

test('tells what Claude Code and codex exec say in their own streams', () => {
  const content = [
    { type: 'text', text: 'hello' },
    { type: 'tool_use', name: 'Bash', input: { command: 'ls' } },
  ];
  expect(read({ type: 'assistant', message: { content } })).toEqual([
    { kind: 'agent', text: 'hello' },
    { kind: 'tool', text: 'Bash {"command":"ls"}' },
  ]);
  expect(read({ type: 'result', subtype: 'success', is_error: true, result: 'overloaded' })).toEqual([
    { kind: 'turn', text: 'overloaded' },
  ]);
  expect(read({ type: 'system', subtype: 'init' })).toEqual([]);
  const item = { type: 'command_execution', command: 'ls', exit_code: 0, aggregated_output: 'a\n' };
  expect(read({ type: 'item.completed', item })).toEqual([
    { kind: 'tool', text: 'ls (exit 0)' },
    { kind: 'result', text: 'a\n' },
  ]);
});

test('takes anything else for output, without control sequences, and never fails', () => {
  expect(readableEntries('plain words')).toEqual([{ kind: 'output', text: 'plain words' }]);
  expect(read({ level: 'info' })).toEqual([{ kind: 'output', text: '{"level":"info"}' }]);
  for (const odd of ['', '{', '{"jsonrpc":"2.0"', 'null', '[1]', '{"jsonrpc":"2.0","method":"session/update"}'])
    expect(() => readableEntries(odd)).not.toThrow();
  const drawn =
    '\u001B[2J\u001B[1;1HBuild\u001B[1;20Hgreen\u001B[0m\u001B]0;title\u0007\u001B]52;c;ZXZpbA==\u001B\\!\r\n';
  expect(read({ pty: 'out', text: drawn })).toEqual([{ kind: 'output', text: ' Build green!\n', continues: true }]);
});
