import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';

import { digestOf, ok, refuse, type Result } from '../kernel/index.ts';

/** Milliseconds from a text that carries its unit: `500ms`, `30s`, `10m`, `2h`, `1d`. */
const duration = z
  .string()
  .regex(/^\d+(?:ms|s|m|h|d)$/, 'is a duration with its unit, such as 30s, 10m or 2h')
  .transform((text) => {
    const [, count, unit] = /^(\d+)(\w+)$/.exec(text) ?? [];
    return (
      Number(count) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 'ms' | 's' | 'm' | 'h' | 'd']
    );
  });

/** Bytes from a text that carries its unit: `64KB`, `10MB`, `2GB` (powers of 1024). */
const size = z
  .string()
  .regex(/^\d+(?:KB|MB|GB)$/, 'is a size with its unit, such as 64KB, 10MB or 2GB')
  .transform(
    (text) =>
      Number.parseInt(text, 10) * { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }[text.slice(-2) as 'KB' | 'MB' | 'GB'],
  );

const argv = z.array(z.string().min(1)).min(1);
const glob = z.string().min(1).max(500);
const insidePath = z
  .string()
  .min(1)
  .refine(
    (path) => !path.startsWith('/') && !path.split('/').includes('..') && !/[\0\n\r]/.test(path),
    'is a path inside the repository',
  );
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is a variable name');

const check = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/i, 'has letters, digits, dot, dash and underscore, at most 63'),
  run: argv,
  /** Runs only when a changed path matches one of these; default always. */
  paths: z.array(glob).min(1).optional(),
  cwd: insidePath.optional(),
  timeout: duration.default(600_000),
  maxOutput: size.default(16 * 1024 ** 2),
  memory: size.optional(),
  network: z.boolean().default(false),
});

const schema = z.strictObject({
  version: z.literal(1),
  repository: z
    .strictObject({
      forge: z.enum(['local', 'github']).default('local'),
      slug: z
        .string()
        .regex(/^[\w.-]+\/[\w.-]+$/, 'is owner/name')
        .optional(),
      base: z.string().min(1).max(200).optional(),
    })
    .optional(),
  agents: z
    .array(
      z.strictObject({
        codename: z.string().regex(/^[a-z0-9][a-z0-9-]{2,62}[a-z0-9]$/, 'has 4 to 64 letters, digits and dashes'),
        driver: z.enum(['acp', 'claude', 'codex', 'command']),
        command: argv,
        family: z.string().min(1).max(64),
        roles: z.array(z.enum(['author', 'reviewer', 'qa'])).min(1),
        model: z.string().max(200).optional(),
        env: z.array(variableName).optional(),
      }),
    )
    .optional(),
  workspace: z
    .strictObject({
      setup: z.array(argv).optional(),
      copy: z.array(insidePath).optional(),
      link: z.array(insidePath).max(32).optional(),
      ports: z
        .array(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'has small letters, digits and dashes, at most 32'))
        .max(16)
        .optional(),
      sparse: z.array(insidePath).min(1).max(200).optional(),
      env: z.record(variableName, z.string().max(4000)).optional(),
      cacheKey: z.array(insidePath).optional(),
      teardown: z.array(argv).optional(),
      timeout: duration.optional(),
    })
    .optional(),
  checks: z
    .union([z.literal('none'), z.array(check).min(1)], { error: 'is a list of checks, or the word none' })
    .optional(),
  review: z
    .strictObject({
      maxRounds: z.number().int().min(1).max(10).default(3),
      humans: z.array(z.string().min(1)).optional(),
      skipRiskAssessment: z.boolean().default(false),
      onDead: z.enum(['resume', 'restart']).default('resume'),
    })
    .optional(),
  land: z
    .strictObject({
      auto: z.enum(['none', 'low', 'medium']).default('none'),
      method: z.enum(['squash', 'merge']).default('squash'),
    })
    .optional(),
  risk: z.strictObject({ critical: z.array(glob).optional(), medium: z.array(glob).optional() }).optional(),
  policy: z
    .strictObject({
      preset: z.string().max(64).default('workspace'),
      rules: z.array(z.record(z.string(), z.json())).default([]),
    })
    .optional(),
});

/** `chantier.yml` as parsed: durations in ms, sizes in bytes. What the file leaves out is inferred. */
export type RepositoryFile = z.output<typeof schema>;
/** One check as configured. `timeout` in ms, `maxOutput` and `memory` in bytes. */
export type CheckDefinition = z.output<typeof check>;

/** The configuration that holds for a repository: the file's words, completed by what was inferred. */
export interface RepositoryConfig extends Omit<RepositoryFile, 'version' | 'checks' | 'workspace'> {
  workspace: {
    /** Commands that make a fresh clone usable, in order. */
    setup: string[][];
    /** Files of the operator's checkout that each work folder gets a copy of. */
    copy: string[];
    /** Patterns of `.worktreeinclude` of the base, in its order; left out when there are none. */
    include?: string[];
    /** Files and folders of the operator's checkout that each work folder sees read-only; left out when there are none. */
    link?: string[];
    /** Names of port leases besides `PORT`; left out when there are none. */
    ports?: string[];
    /** Folders that a work folder holds, as git's cone mode takes them; left out = everything. */
    sparse?: string[];
    env: Record<string, string>;
    /** Files whose content decides whether a cached set-up fits. */
    cacheKey: string[];
    teardown: string[][];
    /** Bound of one set-up command, ms. */
    timeout: number;
    /** False when what set-up makes holds absolute paths (a virtual environment) and cannot be copied to another folder. */
    isCacheable: boolean;
  };
  /** `'none'` was said; an empty list was not, and blocks landing. */
  checks: 'none' | CheckDefinition[];
}

/** Holds while nothing is trusted: no set-up, no rule, and no list of checks, so that nothing lands. */
export const nothingTrusted: RepositoryConfig = {
  workspace: { setup: [], copy: [], env: {}, cacheKey: [], teardown: [], timeout: 1_200_000, isCacheable: false },
  checks: [],
};

const instanceOnly = ['sandbox', 'phase', 'limits', 'users', 'owners', 'operators'];
const largestFile = 256 * 1024;

/** The JSON schema of `chantier.yml`, published for editors. */
export function repositoryFileSchema(): unknown {
  return z.toJSONSchema(schema, { io: 'input' });
}

/** Parses `chantier.yml`. Refuses `invalid_repository_config` with line and key of each fault (at most 20). */
export function parseRepositoryFile(text: string, fileName = 'chantier.yml'): Result<RepositoryFile> {
  if (text.length > largestFile) return fault(fileName, [`${fileName} is larger than 256 KiB`]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    return fault(
      fileName,
      document.errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${error.message}`),
    );
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return fault(fileName, [`line 1: ${(error as Error).message}`]);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  return fault(
    fileName,
    parsed.error.issues.flatMap((issue) => describeIssue(issue, document, lines)),
  );
}

/** What a human trusts: everything of a configuration that is executed or decides (design section 4). */
export function configDigest(config: RepositoryConfig): string {
  const { workspace, checks, agents, policy, land, risk, review } = config;
  return digestOf({ workspace, checks, agents, policy, land, risk, review });
}

function describeIssue(issue: z.core.$ZodIssue, document: Document, lines: LineCounter): string[] {
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.find((errors) => errors.some((error) => error.path.length > 0));
    const deeper = inner?.map((error) => ({ ...error, path: [...issue.path, ...error.path] }));
    if (deeper) return deeper.flatMap((error) => describeIssue(error, document, lines));
  }
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      const hint =
        instanceOnly.includes(key) && issue.path.length === 0
          ? `is set for the instance only: chantier config ${key}`
          : 'is not a known key';
      return `line ${lineOf(path, document, lines)}: ${path.map(String).join('.')} ${hint}`;
    });
  }
  const where = issue.path.map(String).join('.') || '(file)';
  return [`line ${lineOf(issue.path, document, lines)}: ${where} ${wordsOf(issue)}`];
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  return issue.message.replace(/^Invalid input: /, '');
}

/** Line of the deepest part of `path` that the file has; a key's own line where there is one. */
function lineOf(path: readonly PropertyKey[], document: Document, lines: LineCounter): number {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isNode(item.key) && String(item.key) === String(path[depth - 1]));
      if (pair && isNode(pair.key) && pair.key.range) return lines.linePos(pair.key.range[0]).line;
    }
    const node = document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function fault(fileName: string, faults: string[]): Result<never> {
  const shown = faults.slice(0, 20);
  const more = faults.length > shown.length ? ` and ${faults.length - shown.length} more` : '';
  return refuse(
    'invalid',
    'invalid_repository_config',
    `${fileName}: ${shown.join('; ')}${more}. Correct the file on the base branch, then try again.`,
    {
      faults: shown,
    },
  );
}
