import { type AgentRole, toolsOf } from '../../../src/mcp/index.ts';
import { code, type Page, page, table } from './page.ts';

const intro = `Agents reach Chantier through \`chantier mcp\`, an MCP server on stdio that is put into each session. It has these tools and no
others, by the role of the session. None of them decides anything.`;

/** The MCP tools of each role with their arguments. */
export function mcpToolsPage(): Page {
  const sections = Object.keys(toolsOf).map((role) => `## For ${role} sessions\n\n${toolTable(role as AgentRole)}`);
  return page('docs/reference/mcp-tools.md', 'Tools for agents', intro, ...sections);
}

function toolTable(role: AgentRole): string {
  const rows = toolsOf[role].map((tool) => {
    const required = new Set(tool.inputSchema.required ?? []);
    const names = Object.keys(tool.inputSchema.properties ?? {});
    return [
      code(tool.name),
      tool.description,
      names.map((name) => code(required.has(name) ? name : `${name}?`)).join(' '),
    ];
  });
  return table(['Tool', 'What it does', 'Arguments'], rows);
}
