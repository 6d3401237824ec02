import { z } from 'zod';

import { digestOf, globFault, ok, refuse, type Result } from '../kernel/index.ts';
import { toolKinds } from './call.ts';
import type { Phase } from './phase.ts';
import { type GatePolicy, type PolicyRule, type Preset, presets } from './policy.ts';

const pattern = z.string().min(1).max(500);

const rule = z.strictObject({
  effect: z.enum(['allow', 'provisional', 'ask', 'block']),
  tool: pattern.optional(),
  kind: z.enum(toolKinds).optional(),
  server: pattern.optional(),
  role: z.string().min(1).max(64).optional(),
  path: z
    .strictObject({
      argument: z
        .string()
        .regex(/^(?:\*|\$(?:\.[A-Za-z_][\w-]*|\[\d+\])+)$/, 'is * or a JSON path such as $.file_path'),
      match: z.union([pattern, z.array(pattern).min(1)]),
    })
    .optional(),
  command: z.array(pattern).min(1).max(50).optional(),
});

/** What a policy is made of: the instance's part, then `policy` of the trusted `chantier.yml`. Rules are raw, as written. */
export interface PolicySources {
  phase: Phase;
  allowedHosts: readonly string[];
  instance?: { preset?: string; rules?: readonly unknown[] };
  repository?: { preset?: string; rules?: readonly unknown[] };
}

/**
 * Checks and joins the rules. Refuses `invalid_policy` with every fault: unknown fields, patterns that are none, and rules that
 * can never match. The stricter preset of the two holds (workspace < read-only < locked).
 */
export function loadPolicy(sources: PolicySources): Result<GatePolicy> {
  const faults: string[] = [];
  const rules = [
    ...readRules(sources.instance?.rules ?? [], 'instance', faults),
    ...readRules(sources.repository?.rules ?? [], 'repository', faults),
  ];
  faults.push(...unreachable(rules));
  const named = [sources.instance?.preset, sources.repository?.preset].filter((name) => name !== undefined);
  for (const name of named)
    if (!presets.includes(name as Preset)) faults.push(`preset ${name} is not one of ${presets.join(', ')}`);
  if (faults.length > 0) {
    const shown = faults.slice(0, 20);
    return refuse(
      'invalid',
      'invalid_policy',
      `The policy cannot be used: ${shown.join('; ')}. Correct it, then try again.`,
      {
        faults: shown,
      },
    );
  }
  const preset = presets[Math.max(0, ...named.map((name) => presets.indexOf(name as Preset)))] as Preset;
  const decisive = { preset, rules, allowedHosts: [...sources.allowedHosts].toSorted() };
  return ok({ ...decisive, phase: sources.phase, version: digestOf(decisive).slice(0, 16) });
}

function readRules(raw: readonly unknown[], origin: 'instance' | 'repository', faults: string[]): PolicyRule[] {
  return raw.flatMap((candidate, index) => {
    const source = `${origin}:${index + 1}`;
    const parsed = rule.safeParse(candidate);
    if (!parsed.success) {
      faults.push(...parsed.error.issues.map((issue) => `rule ${source}: ${wordsOf(issue)}`));
      return [];
    }
    const { path, ...rest } = parsed.data;
    const made = {
      ...rest,
      ...(path ? { path: { argument: path.argument, match: [path.match].flat() } } : {}),
      source,
    } as PolicyRule;
    faults.push(...neverMatching(made).map((reason) => `rule ${source} can never match: ${reason}`));
    return [made];
  });
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')} is not a known field`;
  return `${issue.path.map(String).join('.') || '(rule)'} ${issue.message.replace(/^Invalid input: /, '')}`;
}

function neverMatching(made: PolicyRule): string[] {
  const reasons: string[] = [];
  const hasCommand = made.command !== undefined;
  if (hasCommand && made.kind !== undefined && made.kind !== 'execute')
    reasons.push(`a command is never of kind ${made.kind}`);
  if (hasCommand && made.server !== undefined) reasons.push('a tool of a server is no command');
  if (hasCommand && made.path !== undefined) reasons.push('a command has words, not paths; use two rules');
  if (made.command?.slice(0, -1).includes('**')) reasons.push('** may only be the last word of a command');
  if (made.command?.[0] === '**') reasons.push('a command begins with a program');
  for (const match of made.path?.match ?? []) {
    const fault = globFault(match);
    if (fault) reasons.push(`path ${match} ${fault}`);
  }
  if (conditionsOf(made).length === 0 && made.effect !== 'block' && made.effect !== 'ask')
    reasons.push(`${made.effect} needs a condition: it would open everything`);
  return reasons;
}

const conditionNames = ['tool', 'kind', 'server', 'role', 'path', 'command'] as const;

function conditionsOf(made: PolicyRule): string[] {
  return conditionNames
    .filter((name) => made[name] !== undefined)
    .map((name) => `${name}=${JSON.stringify(made[name])}`);
}

/** A rule after one whose conditions are all among its own is never reached. */
function unreachable(rules: readonly PolicyRule[]): string[] {
  return rules.flatMap((later, at) => {
    const own = conditionsOf(later);
    const earlier = rules
      .slice(0, at)
      .find((rule_) => coversServer(rule_, later) && conditionsOf(rule_).every((condition) => own.includes(condition)));
    return earlier ? [`rule ${later.source} can never match: ${earlier.source} already decides`] : [];
  });
}

/** A rule that opens a server only matches trusted ones, so a later one for the untrusted can still match. */
function coversServer(earlier: PolicyRule, later: PolicyRule): boolean {
  const opens = (made: PolicyRule): boolean => made.effect === 'allow' || made.effect === 'provisional';
  return earlier.command === undefined
    ? earlier.server === undefined || !opens(earlier) || opens(later)
    : !opens(earlier) || opens(later);
}
