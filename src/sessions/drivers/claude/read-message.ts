import type { Json } from '../../../kernel/index.ts';
import type { DriverEvent, ToolCallView } from '../driver-event.ts';
import { isRecord, recordsOf, textOf } from '../read-json.ts';

/** What the agent's tools do, in the words of the tool calls; tools of MCP servers are `other`. */
const operations: Readonly<Record<string, string>> = {
  Bash: 'execute',
  BashOutput: 'read',
  Read: 'read',
  Edit: 'edit',
  MultiEdit: 'edit',
  Write: 'edit',
  NotebookEdit: 'edit',
  Glob: 'search',
  Grep: 'search',
  WebFetch: 'fetch',
  WebSearch: 'fetch',
  Task: 'think',
  ExitPlanMode: 'switch_mode',
  EnterPlanMode: 'switch_mode',
};

/** A message of the model, or one of its subagents' (whose texts are not the agent's word and come as thoughts). */
export function readAssistant(message: Record<string, unknown>): DriverEvent[] {
  const body = isRecord(message.message) ? message.message : {};
  const isSubagent = textOf(message.parent_tool_use_id) !== undefined;
  const messageId = textOf(body.id);
  return recordsOf(body.content).flatMap((block): DriverEvent[] => {
    const text = textOf(block.text) ?? textOf(block.thinking);
    if (text !== undefined && text !== '')
      return [
        {
          kind: 'message',
          role: block.type === 'text' && !isSubagent ? 'agent' : 'thought',
          ...(messageId === undefined ? {} : { messageId }),
          text,
          replayed: false,
        },
      ];
    return block.type === 'tool_use' ? readToolUse(block) : [];
  });
}

/** Results of tools, and texts that the agent adds in our name ("[Request interrupted by user]"). */
export function readUser(message: Record<string, unknown>): DriverEvent[] {
  const body = isRecord(message.message) ? message.message : {};
  return recordsOf(body.content).flatMap((block): DriverEvent[] => {
    if (block.type === 'tool_result')
      return [
        {
          kind: 'tool-call',
          call: {
            callId: textOf(block.tool_use_id) ?? '',
            status: block.is_error === true ? 'failed' : 'completed',
            output: (block.content ?? null) as Json,
          },
          replayed: false,
        },
      ];
    const text = textOf(block.text);
    return text === undefined ? [] : [{ kind: 'message', role: 'user', text, replayed: false }];
  });
}

/** A tool call as a `can_use_tool` request shows it. */
export function readAskedCall(request: Record<string, unknown>): ToolCallView {
  const tool = textOf(request.tool_name) ?? '';
  const title = textOf(request.title) ?? textOf(request.description);
  const call = callOf(textOf(request.tool_use_id) ?? '', tool, request.input);
  return title === undefined ? call : { ...call, title };
}

function readToolUse(block: Record<string, unknown>): DriverEvent[] {
  const tool = textOf(block.name) ?? '';
  const call: ToolCallView = { ...callOf(textOf(block.id) ?? '', tool, block.input), status: 'pending' };
  return [{ kind: 'tool-call', call, replayed: false }, ...readPlan(tool, block.input)];
}

function callOf(callId: string, tool: string, input: unknown): ToolCallView {
  const fields = isRecord(input) ? input : {};
  const path = textOf(fields.file_path) ?? textOf(fields.notebook_path) ?? textOf(fields.path);
  return {
    callId,
    title: textOf(fields.command) ?? (path === undefined ? tool : `${tool} ${path}`),
    tool,
    operation: operations[tool] ?? 'other',
    ...(path === undefined ? {} : { paths: [path] }),
    ...(input === undefined ? {} : { input: input as Json }),
  };
}

/** The agent keeps its plan by a tool. */
function readPlan(tool: string, input: unknown): DriverEvent[] {
  if (tool !== 'TodoWrite' || !isRecord(input)) return [];
  const entries = recordsOf(input.todos).map((todo) => ({
    text: textOf(todo.content) ?? '',
    status: textOf(todo.status) ?? 'pending',
  }));
  return [{ kind: 'plan', entries, replayed: false }];
}
