import { matchesGlob } from '../kernel/index.ts';
import { argumentAt, pathsOf } from './call-facts.ts';
import type { GateCall } from './call.ts';
import type { JudgedCommand } from './judge-command.ts';
import type { Places } from './places.ts';
import type { GatePolicy, PolicyRule } from './policy.ts';

/** What a rule is asked about: the call, and for a command one of its simple commands. */
export interface RuleSubject {
  call: GateCall;
  places: Places;
  command?: JudgedCommand;
}

/** The first rule that matches. Rules that open match only what is certain; rules that close also match what may be meant. */
export function firstRule(policy: GatePolicy, subject: RuleSubject): PolicyRule | undefined {
  return policy.rules.find((rule) => matchesRule(rule, subject));
}

function matchesRule(rule: PolicyRule, { call, places, command }: RuleSubject): boolean {
  const opens = rule.effect === 'allow' || rule.effect === 'provisional';
  if (rule.role !== undefined && rule.role !== call.role) return false;
  if (rule.kind !== undefined && rule.kind !== (command ? 'execute' : call.tool.kind)) return false;
  if (rule.tool !== undefined && !matchesName(rule.tool, call.tool.name ?? '')) return false;
  if (rule.server !== undefined) {
    if (!call.server || !matchesName(rule.server, call.server.label)) return false;
    if (opens && !call.server.isTrusted) return false;
  }
  if (rule.command !== undefined && (!command || !matchesWords(rule.command, command, opens))) return false;
  return rule.path === undefined || matchesPaths(rule.path, call, places, opens);
}

/** Patterns of names and words: `*` stands for anything, slashes included. */
export function matchesName(pattern: string, name: string): boolean {
  const source = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  return new RegExp(`^${source.join('.*')}$`, 's').test(name);
}

function matchesWords(patterns: readonly string[], command: JudgedCommand, opens: boolean): boolean {
  if (opens && command.hasVariables) return false;
  const isOpenEnded = patterns.at(-1) === '**';
  const fixed = isOpenEnded ? patterns.slice(0, -1) : patterns;
  const words = command.words;
  if (words.length === 0) return false;
  // Words that the shell fills in may be several or none.
  const isCertain = words.slice(0, fixed.length).every((word) => word !== undefined);
  if (!isCertain || words.length < fixed.length || (!isOpenEnded && words.length > fixed.length)) {
    if (opens || !words.includes(undefined)) return false;
  }
  if (!isOpenEnded && opens && words.includes(undefined)) return false;
  return fixed.every((pattern, at) => {
    const word = words[at];
    return word === undefined ? !opens : matchesName(pattern, word);
  });
}

function matchesPaths(rule: NonNullable<PolicyRule['path']>, call: GateCall, places: Places, opens: boolean): boolean {
  const paths =
    rule.argument === '*'
      ? pathsOf(call)
      : [argumentAt(call.rawInput, rule.argument)].flat().filter((path) => typeof path === 'string');
  if (paths.length === 0) return false;
  const matches = (path: string): boolean => rule.match.some((pattern) => matchesGlob(pattern, places.forRules(path)));
  return opens ? paths.every(matches) && pathsOf(call).every(matches) : paths.some(matches);
}
