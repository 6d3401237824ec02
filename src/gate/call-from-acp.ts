import type { Json } from '../kernel/index.ts';
import { asObject } from './call-facts.ts';
import { type CallServer, type GateCall, type ToolKind, toolKinds } from './call.ts';

/** What is known of the session that asks, besides the tool call itself. */
export type CallContext = Omit<GateCall, 'tool' | 'rawInput' | 'locations' | 'server' | 'requestId'> & {
  requestId?: string;
};

/**
 * Maps the `toolCall` of an ACP `session/request_permission` (and what is known of the same id from earlier updates, merged by the
 * caller) onto a call; the drivers' own view of it (`operation`, `input`, `paths`, `tool`) is taken as well. `serverOf` gives the server of a tool name such as `mcp__github__create_issue`. A diff without
 * arguments still counts as input: it shows what is changed.
 */
export function callFromAcp(toolCall: Json, context: CallContext, serverOf?: (label: string) => CallServer): GateCall {
  const fields = asObject(toolCall) ?? {};
  const meta = asObject(asObject(fields._meta)?.claudeCode);
  const name = [meta?.toolName, fields.name, fields.tool, mcpName(fields.title)].find(
    (value) => typeof value === 'string' && value !== '',
  ) as string | undefined;
  const label = name === undefined ? undefined : /^mcp__(.+?)__/.exec(name)?.[1];
  const server = label === undefined ? undefined : (serverOf?.(label) ?? unknownServer(context.agent, label));
  const rawInput = inputOf(fields);
  return {
    ...context,
    tool: {
      kind: kindOf(fields.kind ?? fields.operation),
      title: typeof fields.title === 'string' ? fields.title : '',
      ...(name === undefined ? {} : { name }),
    },
    ...(rawInput === undefined ? {} : { rawInput }),
    locations: locationsOf(fields),
    ...(server ? { server } : {}),
  };
}

/** A server that only the agent knows: never trusted, named by what the agent calls it. */
export function unknownServer(agent: string, label: string): CallServer {
  return { identity: `agent:${agent}:${label}`, label, isTrusted: false };
}

function kindOf(value: Json | undefined): ToolKind {
  return toolKinds.find((kind) => kind === value) ?? 'other';
}

function mcpName(title: Json | undefined): string | undefined {
  return typeof title === 'string' ? /^mcp__[\w.-]+/.exec(title)?.[0] : undefined;
}

/** Arguments; an empty object says nothing. Else the diffs that are shown. */
function inputOf(fields: { [key: string]: Json }): Json | undefined {
  const raw = fields.rawInput ?? fields.input;
  const isEmpty = raw === undefined || raw === null || (asObject(raw) && Object.keys(asObject(raw) ?? {}).length === 0);
  if (!isEmpty) return raw;
  const diffs = diffsOf(fields).map(({ path, oldText, newText }) => ({
    path: path ?? '',
    oldText: oldText ?? null,
    newText: newText ?? null,
  }));
  return diffs.length > 0 ? { edits: diffs } : undefined;
}

function diffsOf(fields: { [key: string]: Json }): { [key: string]: Json }[] {
  const content = Array.isArray(fields.content) ? fields.content : [];
  return content.flatMap((block) => {
    const entry = asObject(block);
    return entry?.type === 'diff' ? [entry] : [];
  });
}

function locationsOf(fields: { [key: string]: Json }): string[] {
  const listed = [fields.locations, fields.paths].flatMap((value) => (Array.isArray(value) ? value : []));
  const paths = [
    ...listed.map((location) => asObject(location)?.path ?? location),
    ...diffsOf(fields).map((diff) => diff.path),
  ];
  return [...new Set(paths.filter((path) => typeof path === 'string'))];
}
