import type { Json } from '../../../kernel/index.ts';
import type { DriverEvent, ToolCallView } from '../driver-event.ts';
import { isRecord, recordsOf, textOf } from '../read-json.ts';

/** One item of a turn, `id` its name in the thread: what the agent said, thought, ran or changed. Complaints are noise. */
export function readItem(id: string, item: Record<string, unknown>): DriverEvent[] {
  switch (item.type) {
    case 'agent_message':
      return message('agent', id, item.text);
    case 'reasoning':
      return message('thought', id, item.text);
    case 'todo_list':
      return [{ kind: 'plan', entries: recordsOf(item.items).map(readStep), replayed: false }];
    case 'error':
      return [{ kind: 'noise', text: textOf(item.message) ?? '' }];
    default:
      return [{ kind: 'tool-call', call: readCall(id, item), replayed: false }];
  }
}

function message(role: 'agent' | 'thought', messageId: string, text: unknown): DriverEvent[] {
  const words = textOf(text);
  return words === undefined ? [] : [{ kind: 'message', role, messageId, text: words, replayed: false }];
}

function readStep(step: Record<string, unknown>): { text: string; status: string } {
  return { text: textOf(step.text) ?? '', status: step.completed === true ? 'completed' : 'pending' };
}

function readCall(callId: string, item: Record<string, unknown>): ToolCallView {
  const status = textOf(item.status);
  const base = { callId, ...(status === undefined ? {} : { status }) };
  switch (item.type) {
    case 'command_execution': {
      const command = textOf(item.command) ?? '';
      const output = { text: textOf(item.aggregated_output) ?? '', exitCode: (item.exit_code ?? null) as Json };
      return { ...base, title: command, tool: 'shell', operation: 'execute', input: { command }, output };
    }
    case 'file_change': {
      const paths = recordsOf(item.changes).flatMap(({ path }) => textOf(path) ?? []);
      return { ...base, title: `change ${paths.join(', ')}`, tool: 'apply_patch', operation: 'edit', paths };
    }
    case 'mcp_tool_call': {
      const tool = `mcp__${textOf(item.server) ?? ''}__${textOf(item.tool) ?? ''}`;
      const input = isRecord(item.arguments) ? { input: item.arguments as Json } : {};
      return { ...base, title: tool, tool, operation: 'other', ...input };
    }
    case 'web_search':
      return { ...base, title: textOf(item.query) ?? '', tool: 'web_search', operation: 'fetch' };
    default:
      return { ...base, title: textOf(item.type) ?? 'item', operation: 'other' };
  }
}
