import type { PermissionAsk } from '../../sessions/index.ts';

/** The tools of `chantier mcp`: each name with those of its arguments. */
export type OwnTools = ReadonlyMap<string, ReadonlySet<string>>;

/** Kinds under which agents show a tool of a server; a command, a change of a file or a fetch has a kind of its own. */
const serverKinds: ReadonlySet<string> = new Set(['', 'other']);

/**
 * Whether a call is one of the tools of `chantier mcp`, which the server judges where it is called. The whole name must be
 * one of ours, and the call may hold nothing that this tool does not take: a title is words that an agent chose (G-20).
 */
export function isOwnTool(call: PermissionAsk['call'], tools: OwnTools): boolean {
  const name = call.tool ?? call.title ?? '';
  const known = name.startsWith(prefix) ? tools.get(name.slice(prefix.length)) : undefined;
  if (!known || !serverKinds.has(call.operation ?? '')) return false;
  if ((call.paths ?? []).length > 0 || holdsDiff(call.content)) return false;
  const input = call.input ?? {};
  return typeof input === 'object' && !Array.isArray(input) && Object.keys(input ?? {}).every((key) => known.has(key));
}

const prefix = 'mcp__chantier__';

function holdsDiff(content: unknown): boolean {
  return Array.isArray(content) && content.some((block) => (block as { type?: unknown } | null)?.type === 'diff');
}
