import type { ToolKind } from './call.ts';
import type { Phase } from './phase.ts';

/** Ready-made policies (decision 7). `workspace`: silent inside, strict at the wall. `read-only`: nothing is changed. `locked`: only what a rule names. */
export const presets = ['workspace', 'read-only', 'locked'] as const;
export type Preset = (typeof presets)[number];

export type RuleEffect = 'allow' | 'provisional' | 'ask' | 'block';

/** One rule; all conditions that are given must hold. The first rule that matches decides. */
export interface PolicyRule {
  effect: RuleEffect;
  /** Pattern on the tool's name (`*` within it). */
  tool?: string;
  kind?: ToolKind;
  /** Pattern on the server's label; with `allow` and `provisional` only servers that a human trusted match. */
  server?: string;
  role?: string;
  /** A path of the call: where its arguments hold it (`$.file_path`, `*` = any path), and patterns relative to the work folder (absolute outside). */
  path?: { argument: string; match: readonly string[] };
  /** Words of a simple command, each a pattern; `**` as last word = any further words. */
  command?: readonly string[];
  /** `instance:<n>` or `repository:<n>`, n from 1. */
  source: string;
}

/** The policy in effect for one session. */
export interface GatePolicy {
  preset: Preset;
  /** Instance first, then repository. */
  rules: readonly PolicyRule[];
  /** Hosts that the wall lets through: `packages.example.net`, `*.example.org`. */
  allowedHosts: readonly string[];
  phase: Phase;
  /** Digest over all that decides; a yes binds to it. */
  version: string;
}
