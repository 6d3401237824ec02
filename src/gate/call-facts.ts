import type { Json } from '../kernel/index.ts';
import type { GateCall } from './call.ts';
import type { ShellCommand } from './shell/index.ts';
import { parseShell } from './shell/index.ts';

/** The command of a call, taken apart; `isUnderstood` false carries the text that could not be. */
export type CallCommand =
  | { isUnderstood: true; commands: readonly ShellCommand[]; text: string }
  | { isUnderstood: false; text: string; reason: string };

/**
 * The command that a call runs: from its arguments (`command`, `cmd`, `script`: a text, or words), else for kind `execute`
 * its title, which is no command to rely on. `undefined` when the call runs none. An agent that calls a command a read is not believed.
 */
export function commandOf(call: GateCall): CallCommand | undefined {
  const input = asObject(call.rawInput);
  const raw = input && !call.server ? (input.command ?? input.cmd ?? input.script) : undefined;
  const text = typeof raw === 'string' ? raw : undefined;
  if (text !== undefined) return parsed(text);
  if (Array.isArray(raw) && raw.length > 0 && raw.every((word) => typeof word === 'string')) return fromWords(raw);
  if (call.tool.kind !== 'execute' || call.server) return undefined;
  return {
    isUnderstood: false,
    text: call.tool.title,
    reason: call.rawInput === undefined ? 'no arguments were given' : 'no command was given',
  };
}

function parsed(text: string): CallCommand {
  const result = parseShell(text);
  return result.isUnderstood ? { ...result, text } : { ...result, text };
}

function fromWords(words: readonly string[]): CallCommand {
  const command: ShellCommand = {
    words: words.map((word) => ({ text: word, isStatic: true, hasGlob: false, isQuoted: true })),
    assignments: [],
    redirections: [],
  };
  return { isUnderstood: true, commands: [command], text: words.join(' ') };
}

/** The folder in which the call runs: its own word for it, else the session's. */
export function folderOf(call: GateCall): string {
  const input = asObject(call.rawInput);
  const given = input?.cwd ?? input?.workdir ?? input?.directory ?? input?.dir_path;
  return typeof given === 'string' && given.startsWith('/') ? given : call.cwd;
}

const pathNames =
  /^(?:abs(?:olute)?_?path|file_?path|path|paths|notebook_?path|filename|file|old_?path|new_?path|source|destination|target|dir(?:ectory)?|move_path)$/i;

/** Every path that a call says it touches: its locations, and members of its arguments that are named like paths. */
export function pathsOf(call: GateCall): string[] {
  const found = new Set(call.locations);
  const collect = (value: Json, depth: number): void => {
    if (depth > 6 || value === null || typeof value !== 'object') return;
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 1000)) collect(item, depth + 1);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      // Codex names the changed files as members.
      if (/^(?:changes|file_?changes)$/i.test(name) && asObject(member))
        for (const path of Object.keys(asObject(member) ?? {})) found.add(path);
      if (pathNames.test(name)) for (const path of [member].flat()) if (typeof path === 'string') found.add(path);
      collect(member, depth + 1);
    }
  };
  collect(call.rawInput ?? null, 0);
  return [...found].map((path) => path.replace(/^file:\/\//, '')).filter((path) => path !== '');
}

/** Hosts that a fetch names; empty when none can be read. */
export function urlsOf(call: GateCall): string[] {
  const input = asObject(call.rawInput);
  const given = [input?.url, input?.uri, input?.urls].flat().filter((value) => typeof value === 'string');
  const inPrompt = typeof input?.prompt === 'string' ? (input.prompt.match(/https?:\/\/[^\s"'<>)]+/g) ?? []) : [];
  return [...given, ...inPrompt] as string[];
}

/** The value at a path such as `$.file_path` or `$.edits[0].path`. */
export function argumentAt(input: Json | undefined, path: string): Json | undefined {
  let value: Json | undefined = input;
  for (const step of path.slice(1).match(/[A-Za-z_][\w-]*|\d+/g) ?? []) {
    if (value === null || typeof value !== 'object') return undefined;
    value = Array.isArray(value) ? value[Number(step)] : Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

export function asObject(value: Json | undefined): { [key: string]: Json } | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
}
