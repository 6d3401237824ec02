import { canonicalJson, type Json, sha256 } from '../kernel/index.ts';
import { asObject } from './call-facts.ts';
import type { CallServer } from './call.ts';
import { type CapabilityDefinition, type RecordedTier, type Tier, tierOf } from './capability.ts';

/** Version of the formula below; a new formula must not look like a changed tool (field case 40). */
const formula = 1;
const hashedMembers = [
  'name',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'execution',
  'icons',
  '_meta',
];

/** The hash of a raw tool entry (decision 3): canonical JSON over its members, independent of their order. */
export function definitionHash(entry: Json): string {
  const members = asObject(entry) ?? {};
  const picked = hashedMembers.filter((name) => Object.hasOwn(members, name)).map((name) => [name, members[name]]);
  return sha256(`chantier tool definition ${formula}\n${canonicalJson(Object.fromEntries(picked))}`);
}

/** What is recorded for a tool of an MCP server: the version follows its definition and the server's identity. */
export function serverToolDefinition(
  server: CallServer,
  name: string,
): Omit<CapabilityDefinition, 'tier'> & { tier: Tier } {
  const hash = server.definition === undefined ? sha256(`unseen ${name}`) : definitionHash(server.definition);
  return {
    type: 'mcp_tool',
    name,
    server: server.identity,
    serverLabel: server.label.slice(0, 200),
    version: `sha256:${sha256(`${server.identity}\n${hash}`).slice(0, 32)}`,
    definitionHash: hash,
    ...(server.definition === undefined ? {} : { definition: canonicalJson(server.definition) }),
    tier: tierOf(server.annotations ?? annotationsOf(server.definition), { isTrusted: server.isTrusted }),
  };
}

/** What is recorded for a command or for a tool that the agent brings: its name is all its definition. */
export function builtinDefinition(
  type: 'command' | 'tool' | 'http_operation',
  name: string,
  tier: RecordedTier,
): CapabilityDefinition {
  const visible = [...name.replaceAll(/\p{C}/gu, '?')].slice(0, 200).join('');
  return {
    type,
    name: visible,
    server: '',
    serverLabel: '',
    version: '1',
    definitionHash: sha256(`${type}\n${name}`),
    tier,
  };
}

function annotationsOf(definition: Json | undefined): CallServer['annotations'] {
  const annotations = asObject(asObject(definition)?.annotations);
  if (!annotations) return undefined;
  const { readOnlyHint, destructiveHint } = annotations;
  return {
    ...(typeof readOnlyHint === 'boolean' ? { readOnlyHint } : {}),
    ...(typeof destructiveHint === 'boolean' ? { destructiveHint } : {}),
  };
}
