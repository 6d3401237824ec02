import type { Json } from '../../../kernel/index.ts';
import type { ToolCallView } from '../driver-event.ts';
import { isRecord, textOf } from '../read-json.ts';

/** A tool call, its update, or the tool call inside a permission request; members that are missing or null are left out. */
export function readToolCall(value: Record<string, unknown>): ToolCallView {
  const call: ToolCallView = { callId: textOf(value.toolCallId) ?? '' };
  const title = textOf(value.title);
  const tool = textOf(value.name) ?? claudeToolName(value._meta);
  const operation = textOf(value.kind);
  const status = textOf(value.status);
  if (title !== undefined) call.title = title;
  if (tool !== undefined) call.tool = tool;
  if (operation !== undefined) call.operation = operation;
  if (status !== undefined) call.status = status;
  if (Array.isArray(value.locations)) call.paths = readPaths(value.locations);
  if (isGiven(value.rawInput)) call.input = value.rawInput;
  if (isGiven(value.rawOutput)) call.output = value.rawOutput;
  if (Array.isArray(value.content)) call.content = value.content as Json;
  return call;
}

/** Claude Code's adapter names the tool beside the title, which is the model's words or a command. */
function claudeToolName(meta: unknown): string | undefined {
  return isRecord(meta) && isRecord(meta.claudeCode) ? textOf(meta.claudeCode.toolName) : undefined;
}

function readPaths(locations: unknown[]): string[] {
  return locations.filter(isRecord).flatMap(({ path }) => textOf(path) ?? []);
}

function isGiven(value: unknown): value is Json {
  return value !== undefined && value !== null;
}
