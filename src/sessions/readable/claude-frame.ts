import { cut, type Frame, frameOf, framesOf, type ReadableEntry, textOf } from './frame.ts';

const maxInput = 500;
const maxResult = 4_000;

/** A line of Claude Code's stream protocol as entries; `undefined` when it is none. Pieces of a message are left to the whole one. */
export function readClaudeFrame(frame: Frame): ReadableEntry[] | undefined {
  switch (frame.type) {
    case 'assistant':
    case 'user':
      return readMessage(textOf(frame.type), frameOf(frame.message));
    case 'result':
      return [{ kind: 'turn', text: frame.is_error === true ? cut(textOf(frame.result), maxResult) : 'end_turn' }];
    case 'control_request':
      return readControl(frameOf(frame.request));
    case 'system':
    case 'stream_event':
    case 'control_response':
    case 'control_cancel_request':
    case 'rate_limit_event':
    case 'keep_alive':
      return [];
    default:
      return undefined;
  }
}

function readMessage(from: string, message: Frame): ReadableEntry[] {
  if (typeof message.content === 'string') return [{ kind: 'user', text: message.content }];
  return framesOf(message.content).flatMap((part): ReadableEntry[] => {
    if (part.type === 'text') return [{ kind: from === 'user' ? 'user' : 'agent', text: textOf(part.text) }];
    if (part.type === 'thinking') return [{ kind: 'thought', text: textOf(part.thinking) }];
    if (part.type === 'tool_use')
      return [{ kind: 'tool', text: `${textOf(part.name)} ${cut(JSON.stringify(part.input ?? {}), maxInput)}` }];
    if (part.type === 'tool_result') return [{ kind: 'result', text: cut(resultText(part.content), maxResult) }];
    return [];
  });
}

function readControl(request: Frame): ReadableEntry[] {
  if (request.subtype !== 'can_use_tool') return [];
  const name = textOf(request.display_name) || textOf(request.tool_name);
  return [{ kind: 'permission', text: `${name} ${cut(JSON.stringify(request.input ?? {}), maxInput)}` }];
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  return framesOf(content)
    .map((part) => textOf(part.text))
    .join('\n');
}
