import { repositoryFileSchema } from '../../../src/forge/index.ts';
import { code, type Page, page, table } from './page.ts';

interface Schema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

const intro = `No file is needed: what it would say is found out from the repository and shown before the first run. A team that wants to say it
itself writes \`chantier.yml\` into the root of the repository; \`chantier init --write\` makes one from what was found.

- It is read from the tip of the base branch only, never from an agent's branch.
- It is code: its first use, and each change of what it runs or decides, needs \`chantier trust\` with the passphrase.
- What belongs to the instance (sandbox, phase, limits, users) cannot stand in it.
- Durations and sizes carry their unit: \`90s\`, \`10m\`, \`2h\`; \`64KB\`, \`10MB\`, \`2GB\`.
- A wrong file is refused with the line and the key of each fault.

Editors check it with the JSON schema [chantier.schema.json](chantier.schema.json).`;

const example = `\`\`\`yaml
# chantier.yml
version: 1
repository: { forge: local, base: main }
agents:
  - { codename: turing, driver: acp, command: [claude-agent-acp], family: claude, roles: [author] }
  - { codename: mitnick, driver: acp, command: [codex-acp], family: codex, roles: [reviewer] }
workspace: { setup: [[npm, ci]], copy: [.env.test], cacheKey: [package-lock.json] }
checks:
  - { name: test, run: [npm, test], timeout: 10m }
review: { maxRounds: 3, humans: [operator] }
land: { auto: none, method: squash }
risk: { critical: ["migrations/**"], medium: ["src/auth/**"] }
\`\`\``;

const meanings = `## What the parts mean

| Part | Meaning |
| --- | --- |
| \`repository\` | Which branch work starts from and lands on. \`forge: github\` is accepted, but not served yet. |
| \`agents\` | Agents that this repository proposes. They are registered by a human with \`chantier agent add\`. |
| \`workspace\` | What makes a fresh clone usable: \`setup\` commands in order, files to \`copy\` from your checkout, large ones to \`link\` (seen there, read-only), \`env\` values, names of \`ports\`, the folders of a \`sparse\` clone, files whose content is the \`cacheKey\` of what set-up made, \`teardown\` before the folder goes. In \`env\`, \`{port}\`, \`{port.NAME}\`, \`{database}\`, \`{owner}\` and \`{branch}\` are filled in. |
| \`checks\` | Commands that a candidate must pass before it is offered for landing, or the word \`none\`. Saying nothing where nothing was found blocks landing. \`paths\` limits a check to changes that touch them; \`network: true\` lets it out through the wall. |
| \`review\` | Rounds before a human is asked, who the humans are, and what happens when an author is gone (\`onDead\`). |
| \`land\` | Up to which risk a reviewed change may land without a human (\`auto\`), and how (\`method\`). |
| \`risk\` | Paths whose changes are critical or medium. They add to the built-in rules and never lower them. |
| \`policy\` | Preset and rules of the gate. |`;

/** The keys of \`chantier.yml\`, an example, and the JSON schema. */
export function chantierYmlPages(): Page[] {
  const schema = repositoryFileSchema() as Schema;
  const rows = keysOf(schema, '');
  return [
    page(
      'docs/reference/chantier-yml.md',
      'chantier.yml',
      intro,
      example,
      meanings,
      `## Every key\n\n${table(['Key', 'May be', 'Default'], rows)}`,
    ),
    { file: 'docs/reference/chantier.schema.json', content: `${JSON.stringify(schema, null, 1)}\n` },
  ];
}

function keysOf(schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const fallback = value.default === undefined ? '' : code(JSON.stringify(value.default));
    return [[code(path), kindOf(value), fallback], ...below(value, path)];
  });
}

function below(schema: Schema, path: string): string[][] {
  const variants = schema.anyOf ?? [schema];
  return variants.flatMap((variant) =>
    variant.type === 'array' && variant.items?.properties
      ? keysOf(variant.items, `${path}[].`)
      : keysOf(variant, `${path}.`),
  );
}

function kindOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(' or ');
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${schema.items ? kindOf(schema.items) : 'anything'}`;
  if (schema.type === 'integer') return `${schema.minimum ?? 0} to ${schema.maximum ?? 'any'}`;
  return { string: 'text', boolean: 'true or false', object: 'map' }[schema.type ?? ''] ?? 'anything';
}
