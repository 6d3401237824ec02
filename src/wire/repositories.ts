import { z } from 'zod';

import { anyId, pageQuery, timestamp } from './fields.ts';

export const landMode = z.enum(['base', 'branch', 'pull-request']);

const command = z.array(z.string().max(4096)).min(1).max(128);

export const checkDefinition = z.object({
  name: z.string().max(64),
  run: command,
  timeoutMs: z.int(),
  paths: z.array(z.string()),
  network: z.boolean(),
});

/** What was found in a checkout, before anything is written. */
export const detectionView = z.object({
  path: z.string(),
  base: z.string(),
  baseCommit: z.string(),
  remote: z.string().nullable(),
  forge: z.enum(['local', 'github']),
  mode: landMode,
  setup: z.array(command),
  checks: z.array(checkDefinition),
  /** Files whose content decides whether a kept set-up fits; empty = it is run for each work folder. */
  cacheKey: z.array(z.string()),
  /** What a work folder gets from the checkout besides the commit: paths and patterns. */
  fromCheckout: z.array(z.string()),
  /** Where set-up and checks come from, for the one screen: lockfile, `chantier.yml` … */
  reasons: z.array(z.string()),
  dirty: z.object({ staged: z.array(z.string()), unstaged: z.array(z.string()), untracked: z.array(z.string()) }),
  configFile: z.string().nullable(),
  /** Agents found on this machine, with how each would be registered. */
  agents: z.array(
    z.object({ codename: z.string(), driver: z.string(), command, family: z.string(), note: z.string() }),
  ),
  /** MCP servers that settings of agents name, not started; tools as far as a file names them, each with a proposed class. */
  servers: z.array(
    z.object({
      name: z.string(),
      source: z.string(),
      runs: z.string(),
      tools: z.array(z.object({ name: z.string(), proposed: z.enum(['read-only', 'reversible', 'privileged']) })),
    }),
  ),
  warnings: z.array(z.string()),
});
export type DetectionView = z.infer<typeof detectionView>;

export const repositoryView = z.object({
  id: anyId,
  name: z.string(),
  path: z.string(),
  base: z.string(),
  forge: z.enum(['local', 'github']),
  mode: landMode,
  setup: z.array(command),
  checks: z.array(checkDefinition),
  configSource: z.enum(['inferred', 'file', 'operator']),
  configDigest: z.string(),
  /** Whether a human trusted exactly this configuration. */
  isTrusted: z.boolean(),
  trustedBy: z.string().nullable(),
  trustedAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type RepositoryView = z.infer<typeof repositoryView>;

export const detectRequest = z.object({ path: z.string().min(1).max(4096), base: z.string().max(255).optional() });
export type DetectRequest = z.infer<typeof detectRequest>;

export const registerRequest = z.object({
  path: z.string().min(1).max(4096),
  base: z.string().max(255).optional(),
  mode: landMode.optional(),
  setup: z.array(command).optional(),
  /** `[]` is "checks: none", said by the human. */
  checks: z
    .array(z.object({ name: z.string().max(64), run: command, timeout: z.string().max(16).optional() }))
    .optional(),
});
export type RegisterRequest = z.infer<typeof registerRequest>;

/** The digest the human has seen; another one is refused. */
export const trustRequest = z.object({ digest: z.string().max(64).optional() });
export type TrustRequest = z.infer<typeof trustRequest>;

export const repositoryQuery = pageQuery;
