import { cut, type EntryKind, type Frame, frameOf, framesOf, type ReadableEntry, textOf } from './frame.ts';

const chunkKinds: Readonly<Record<string, EntryKind>> = {
  agent_message_chunk: 'agent',
  agent_thought_chunk: 'thought',
  user_message_chunk: 'user',
};

/** Longest result of a tool that is shown; the journal holds the rest. */
const maxResult = 4_000;

/** A frame of ACP v1 (JSON-RPC) as entries; pings, modes and counts tell a reader nothing. */
export function readAcpFrame(frame: Frame): ReadableEntry[] {
  const params = frameOf(frame.params);
  switch (frame.method) {
    case 'session/update':
      return readUpdate(frameOf(params.update));
    case 'session/request_permission':
      return [{ kind: 'permission', text: textOf(frameOf(params.toolCall).title) || 'asks for a permission' }];
    case 'elicitation/create':
      return [{ kind: 'question', text: textOf(params.message) }];
    case undefined:
      return readAnswer(frame);
    default:
      return [];
  }
}

function readUpdate(update: Frame): ReadableEntry[] {
  const kind = chunkKinds[textOf(update.sessionUpdate)];
  if (kind) {
    const text = contentText(update.content);
    return text === '' ? [] : [{ kind, text, continues: true }];
  }
  if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') return readToolCall(update);
  if (update.sessionUpdate !== 'plan') return [];
  const lines = framesOf(update.entries).map((entry) => `${mark(entry.status)} ${textOf(entry.content)}`);
  return [{ kind: 'plan', text: lines.join('\n') }];
}

function readToolCall(update: Frame): ReadableEntry[] {
  const title = textOf(update.title);
  const status = textOf(update.status);
  const results = framesOf(update.content).map((part) => contentText(part.content) || textOf(part.path));
  const text = results.filter((each) => each !== '').join('\n');
  return [
    ...(title === '' ? [] : [{ kind: 'tool' as const, text: status === '' ? title : `${title} (${status})` }]),
    ...(text === '' ? [] : [{ kind: 'result' as const, text: cut(text, maxResult) }]),
  ];
}

/** The end of a turn, or an error. */
function readAnswer(frame: Frame): ReadableEntry[] {
  const error = frameOf(frame.error);
  // -32601 answers our ping.
  if (frame.error !== undefined && error.code !== -32601) return [{ kind: 'notice', text: textOf(error.message) }];
  const reason = textOf(frameOf(frame.result).stopReason);
  return reason === '' ? [] : [{ kind: 'turn', text: reason }];
}

function contentText(content: unknown): string {
  const block = frameOf(content);
  return block.type === 'text' ? textOf(block.text) : '';
}

function mark(status: unknown): string {
  return status === 'completed' ? '[x]' : status === 'in_progress' ? '[>]' : '[ ]';
}
