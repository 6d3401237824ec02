import { join } from 'node:path';

import { readRegular } from '../../forge/index.ts';
import { proposeTier, redactSecrets } from '../../gate/index.ts';
import { forLog } from '../../kernel/index.ts';
import type { DetectionView } from '../../wire/index.ts';

type FoundServer = DetectionView['servers'][number];

/** A server as one file configures it, before anything of it was started. */
interface Configured {
  command?: unknown;
  args?: unknown;
  url?: unknown;
  httpUrl?: unknown;
  includeTools?: unknown;
  enabled_tools?: unknown;
}

const most = 50;
const mostTools = 100;

/**
 * The MCP servers that the settings of agents in a checkout and in the operator's home name: how each is started, and the
 * tools that a file names, each with the class its name suggests. Nothing is started or asked; environment values are not
 * read, and what looks like a secret in a command is masked.
 */
export async function findServers(top: string, operatorHome: string): Promise<FoundServer[]> {
  const read = async (path: string): Promise<string> => (await readRegular(path))?.toString('utf8') ?? '';
  const json = async (path: string): Promise<Record<string, unknown>> => objectOf(parseJson(await read(path)));
  const claudeHome = await json(join(operatorHome, '.claude.json'));
  const project = objectOf(objectOf(claudeHome.projects)[top]);
  const sources: [string, unknown][] = [
    ['.mcp.json', (await json(join(top, '.mcp.json'))).mcpServers],
    ['.claude/settings.json', (await json(join(top, '.claude/settings.json'))).mcpServers],
    ['.gemini/settings.json', (await json(join(top, '.gemini/settings.json'))).mcpServers],
    ['.codex/config.toml', serversOfToml(await read(join(top, '.codex/config.toml')))],
    ['.cursor/mcp.json', (await json(join(top, '.cursor/mcp.json'))).mcpServers],
    ['.vscode/mcp.json', (await json(join(top, '.vscode/mcp.json'))).servers],
    ['~/.claude.json, this project', project.mcpServers],
    ['~/.claude.json', claudeHome.mcpServers],
    ['~/.gemini/settings.json', (await json(join(operatorHome, '.gemini/settings.json'))).mcpServers],
    ['~/.codex/config.toml', serversOfToml(await read(join(operatorHome, '.codex/config.toml')))],
  ];
  const allowed = [
    ...toolsAllowed(await json(join(top, '.claude/settings.json'))),
    ...toolsAllowed(await json(join(top, '.claude/settings.local.json'))),
  ];
  return sources
    .flatMap(([source, servers]) =>
      Object.entries(objectOf(servers)).map(([name, value]) => describe(name, source, objectOf(value), allowed)),
    )
    .slice(0, most);
}

function describe(name: string, source: string, server: Configured, allowed: readonly string[]): FoundServer {
  const prefix = `mcp__${name}__`;
  const named = [
    ...strings(server.includeTools),
    ...strings(server.enabled_tools),
    ...allowed.filter((tool) => tool.startsWith(prefix)).map((tool) => tool.slice(prefix.length)),
  ];
  const tools = [...new Set(named)].filter((tool) => /^[\w.-]{1,64}$/.test(tool)).slice(0, mostTools);
  return {
    name: forLog(name, 64),
    source,
    runs: forLog(redactSecrets(runsOf(server)).text, 200),
    tools: tools.map((tool) => ({ name: tool, proposed: proposeTier(tool) })),
  };
}

function runsOf(server: Configured): string {
  const url = server.url ?? server.httpUrl;
  if (typeof url === 'string') {
    // A key often stands in the query of such an address.
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    return parsed ? `${parsed.origin}${parsed.pathname}` : 'an address that is none';
  }
  return [...strings([server.command]), ...strings(server.args)].join(' ') || 'nothing that starts it';
}

/** `mcp__server__tool` of Claude Code's permissions. */
function toolsAllowed(settings: Record<string, unknown>): string[] {
  const permissions = objectOf(settings.permissions);
  return [...strings(permissions.allow), ...strings(permissions.ask)].filter((rule) => rule.startsWith('mcp__'));
}

/** The tables `[mcp_servers.NAME]` of a TOML file, as far as strings and lists of strings on one line go. */
function serversOfToml(text: string): Record<string, Record<string, unknown>> {
  const servers: Record<string, Record<string, unknown>> = Object.create(null);
  let current: Record<string, unknown> | undefined;
  for (const line of text.split('\n')) {
    const table = /^\s*\[([^\]]+)\]\s*(?:#.*)?$/.exec(line)?.[1];
    if (table !== undefined) {
      const name = /^mcp_servers\.(?:"([^"]+)"|([\w-]+))$/.exec(table.trim());
      const key = name?.[1] ?? name?.[2];
      current = key === undefined ? undefined : (servers[key] ??= {});
      continue;
    }
    const [, key, value] = /^\s*(command|args|url|enabled_tools)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (current && key && value)
      current[key] = parseJson(value.replace(/^'([^'"\\]*)'$/, '"$1"').replace(/,\s*\]$/, ']'));
  }
  return servers;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
