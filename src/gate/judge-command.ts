import { basename } from 'node:path';

import { judgeGit } from './judge-git.ts';
import type { Places } from './places.ts';
import {
  harmlessVariables,
  networkPrograms,
  neverStanding,
  outsideEffect,
  pathChangers,
  readers,
  shells,
  wideSubcommands,
  wrappers,
} from './programs.ts';
import { parseShell, type ShellCommand, type ShellWord } from './shell/index.ts';

/** What one simple command does, as far as its words tell. */
export type CommandClass =
  /** Changes nothing. */
  | 'read'
  /** Changes files inside the work folder only. */
  | 'edit'
  /** Changes the clone by a local subcommand of git. */
  | 'git'
  /** Has an effect outside: push, publish, ssh. */
  | 'outside'
  /** Speaks to hosts that its words name. */
  | 'network'
  /** A command with a name that a standing yes can be given to. */
  | 'named'
  /** Bound to all words: interpreters, unknown variables, what cannot be followed. */
  | 'unmatched';

export interface JudgedCommand {
  class: CommandClass;
  /** Program and first subcommand, `npm test`; what a capability is called. */
  name: string;
  /** Words as rules see them; `undefined` where the shell decides what stands there. */
  words: readonly (string | undefined)[];
  /** Whether variables before the command change how it runs. */
  hasVariables: boolean;
  /** Hosts that the words name (`network`). */
  hosts: readonly string[];
}

/** Judges the simple commands of one script in order; wrappers and scripts of `sh -c` are followed. `undefined` = not understood. */
export function judgeScript(commands: readonly ShellCommand[], places: Places, depth = 0): JudgedCommand[] | undefined {
  const judged: JudgedCommand[] = [];
  for (const command of commands) {
    const found = judgeCommand(command, places, depth);
    if (!found) return undefined;
    judged.push(...found);
  }
  return judged;
}

function judgeCommand(command: ShellCommand, places: Places, depth: number): JudgedCommand[] | undefined {
  if (depth > 8) return undefined;
  const hasVariables = command.assignments.some(({ name }) => !harmlessVariables.test(name));
  const redirected = judgeRedirections(command, places);
  if (command.words.length === 0) {
    return hasVariables ? [unmatched('assignment', [], true), ...redirected] : redirected;
  }
  const program = command.words[0] as ShellWord;
  if (!program.isStatic || program.hasGlob || program.text === '') return undefined;
  const inner = followed(command, places, depth);
  if (inner === 'not understood') return undefined;
  if (inner)
    return [...inner.map((one) => ({ ...one, hasVariables: one.hasVariables || hasVariables })), ...redirected];
  const own = judgePlain(command.words, places);
  return [
    { ...own, hasVariables, class: hasVariables && own.class !== 'outside' ? 'unmatched' : own.class },
    ...redirected,
  ];
}

/** The commands inside a wrapper or a `sh -c`, if this is one. */
function followed(
  command: ShellCommand,
  places: Places,
  depth: number,
): JudgedCommand[] | 'not understood' | undefined {
  const [program, ...rest] = command.words as [ShellWord, ...ShellWord[]];
  const name = programName(program.text);
  if (name === 'trap' || name === 'eval')
    return judgeText(rest.slice(0, name === 'trap' ? 1 : undefined), places, depth);
  if (shells.has(name)) {
    const flag = rest.findIndex((word) => /^-[a-z]*c$/.test(word.text));
    const before = flag < 0 ? rest : rest.slice(0, flag);
    if (flag >= 0 && before.every((word) => word.isStatic && /^-[a-z]+$/.test(word.text)))
      return judgeText(rest.slice(flag + 1, flag + 2), places, depth);
    const stdin = command.redirections.find(({ operator }) => operator === '<<' || operator === '<<<');
    if (stdin && rest.length === 0) return judgeText([stdin.target], places, depth);
    return undefined;
  }
  const wrapper = wrappers[name];
  if (!wrapper) return undefined;
  const start = wrappedStart(rest, wrapper, name === 'env');
  if (start === undefined) return 'not understood';
  if (start.at >= rest.length) return undefined;
  const words =
    name === 'xargs'
      ? [...rest.slice(start.at), { text: '', isStatic: false, hasGlob: false, isQuoted: false }]
      : rest.slice(start.at);
  const inner = judgeCommand({ words, assignments: start.assignments, redirections: [] }, places, depth + 1);
  return inner ?? 'not understood';
}

function wrappedStart(
  words: readonly ShellWord[],
  wrapper: { valued: readonly string[]; operands: number },
  takesVariables: boolean,
): { at: number; assignments: { name: string; value: ShellWord }[] } | undefined {
  const assignments: { name: string; value: ShellWord }[] = [];
  let operands = wrapper.operands;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as ShellWord;
    if (!word.isStatic) return undefined;
    const variable = takesVariables ? /^([A-Za-z_]\w*)=/.exec(word.text) : null;
    if (variable) assignments.push({ name: variable[1] ?? '', value: word });
    // `env -S` splits a text into words of its own.
    else if (takesVariables && /^(?:-[a-zA-Z]*S|--split-string)/.test(word.text)) return undefined;
    else if (wrapper.valued.includes(word.text)) at += 1;
    else if (word.text.startsWith('-') && word.text !== '-') continue;
    else if (operands > 0) operands -= 1;
    else return { at, assignments };
  }
  return { at: words.length, assignments };
}

function judgeText(words: readonly ShellWord[], places: Places, depth: number): JudgedCommand[] | 'not understood' {
  if (words.length === 0 || words.some((word) => !word.isStatic)) return 'not understood';
  const parsed = parseShell(words.map((word) => word.text).join(' '));
  if (!parsed.isUnderstood) return 'not understood';
  return judgeScript(parsed.commands, places, depth + 1) ?? 'not understood';
}

function judgePlain(words: readonly ShellWord[], places: Places): JudgedCommand {
  const texts = words.map((word) => word.text);
  const program = programName(texts[0] ?? '');
  const plain = [program, ...texts.slice(1)];
  const base = {
    name: commandName(program, words.slice(1)),
    words: words.map(wordForRules),
    hasVariables: false,
    hosts: [],
  };
  const outside = outsideEffect(plain);
  if (outside) return { ...base, class: 'outside', name: outside };
  if (program === 'git') return { ...base, ...judgeGit(words.slice(1), places), hosts: hostsOf(plain) };
  if (networkPrograms.has(program)) return { ...base, class: 'network', name: program, hosts: hostsOf(plain) };
  if (program === 'cd' || program === 'pushd') {
    const target = words.slice(1).find((word) => !/^-[LPe@]+$/.test(word.text));
    places.enter(target && target.isStatic && !target.hasGlob && target.text !== '-' ? target.text : undefined);
    return { ...base, class: 'read' };
  }
  if (program === 'popd') places.enter(undefined);
  if (isReader(program, words)) return { ...base, class: 'read' };
  if (pathChangers.has(program))
    return { ...base, class: changesInside(words.slice(1), places) ? 'edit' : 'unmatched' };
  if (program === 'export' && exportsHarmless(words.slice(1))) return { ...base, class: 'read' };
  // A reader with arguments that write is no program that a standing yes could be given to.
  const isKnownReader = program in readers || program === 'uniq' || program === 'date';
  const isNamed = !isKnownReader && !neverStanding.has(basename(program)) && !hasOptionFirst(words.slice(1));
  return { ...base, class: isNamed ? 'named' : 'unmatched' };
}

/** `ls` for `/usr/bin/ls`; any other path stays, since anybody may have written what lies there. */
export function programName(text: string): string {
  return /^\/(?:usr\/(?:local\/)?)?bin\/[^/]+$/.test(text) ? basename(text) : text;
}

/** Program and first subcommand, one word more where that says little. */
function commandName(program: string, rest: readonly ShellWord[]): string {
  let name = program;
  for (const word of rest.slice(0, 2)) {
    if (!word.isStatic || !/^[A-Za-z0-9][\w:.@/+-]{0,79}$/.test(word.text)) break;
    name = `${name} ${word.text}`;
    if (!wideSubcommands.has(name)) break;
  }
  return name;
}

/** An option before the subcommand can change what the subcommand is. */
function hasOptionFirst(rest: readonly ShellWord[]): boolean {
  const [first] = rest;
  return (
    first !== undefined &&
    (!first.isStatic || first.hasGlob || (first.text.startsWith('-') && !/^--?(?:version|help|V|h)$/.test(first.text)))
  );
}

function isReader(program: string, words: readonly ShellWord[]): boolean {
  if (program === 'sed') return isPrintingSed(words.slice(1));
  if (program === 'uniq')
    return (
      words.slice(1).filter((word) => !word.text.startsWith('-')).length <= 1 && words.every((word) => word.isStatic)
    );
  if (program === 'date')
    return words.slice(1).every((word) => word.isStatic && /^(?:\+|-u$|-I|-R$|--iso|--rfc|--utc)/.test(word.text));
  if (!(program in readers)) return false;
  const writing = readers[program];
  // A word that the shell fills in could be such an argument too.
  return !writing || words.slice(1).every((word) => word.isStatic && !writing.test(word.text));
}

/** `sed -n 1,20p file`: prints lines; other scripts can write and run. */
function isPrintingSed(rest: readonly ShellWord[]): boolean {
  const [flag, script, ...files] = rest;
  const prints =
    flag?.text === '-n' && script !== undefined && script.isStatic && /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/.test(script.text);
  return prints && files.every((word) => !word.text.startsWith('-'));
}

function changesInside(operands: readonly ShellWord[], places: Places): boolean {
  const paths = operands.filter((word) => word.text !== '--' && !/^-[a-zA-Z]+$/.test(word.text));
  if (operands.some((word) => word.text.startsWith('--') && word.text !== '--')) return false;
  if (operands.some((word) => /^-[a-zA-Z]*[tT]/.test(word.text))) return false;
  return (
    paths.length > 0 && paths.every((word) => word.isStatic && !word.hasGlob && places.placeOf(word.text) === 'inside')
  );
}

function exportsHarmless(words: readonly ShellWord[]): boolean {
  return words.every((word) => harmlessVariables.test(word.text.split('=')[0] ?? ''));
}

/** Each file that a redirection writes to, as a command of its own. */
function judgeRedirections(command: ShellCommand, places: Places): JudgedCommand[] {
  return command.redirections.flatMap(({ operator, target }) => {
    if (operator === '<' || operator === '<<' || operator === '<<<') return [];
    if ((operator === '>&' || operator === '<&') && /^(?:\d+|-)$/.test(target.text)) return [];
    const isInside = target.isStatic && !target.hasGlob && places.placeOf(target.text) === 'inside';
    if (isInside)
      return target.text.startsWith('/dev/')
        ? []
        : [{ ...unmatched(`write to file`, [], false), class: 'edit' as const }];
    return [unmatched('write to file', ['>', target.isStatic ? target.text : undefined], false)];
  });
}

function unmatched(name: string, words: readonly (string | undefined)[], hasVariables: boolean): JudgedCommand {
  return { class: 'unmatched', name, words, hasVariables, hosts: [] };
}

function wordForRules(word: ShellWord, at: number): string | undefined {
  if (!word.isStatic || word.hasGlob) return undefined;
  return at === 0 ? programName(word.text) : word.text;
}

/** Hosts in the words: `scheme://host`, `user@host:path`, and a bare `host/path` or `host:port`. */
export function hostsOf(words: readonly string[]): string[] {
  const hosts = words.slice(1).flatMap((word) => {
    const url = /^(?:[a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(word.replace(/^--?[\w-]+=/, ''));
    if (url) return [hostOfAuthority(url[1] ?? '')];
    const remote = /^[\w.-]+@([\w.-]+):/.exec(word);
    if (remote) return [(remote[1] ?? '').toLowerCase()];
    const bare = /^((?:[a-z0-9-]+\.)+[a-z]{2,}|localhost|\d+\.\d+\.\d+\.\d+)(?::\d+)?(?:\/|$)/i.exec(word);
    return bare && networkPrograms.has(words[0] ?? '') ? [(bare[1] ?? '').toLowerCase()] : [];
  });
  return [...new Set(hosts)];
}

function hostOfAuthority(authority: string): string {
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}
