import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { applyEdits, findNodeAtLocation, modify, parse, type ParseError, parseTree } from 'jsonc-parser';

import { failWith } from '../outcome.ts';
import type { HookPlace } from './agents.ts';

/** What was done to one file, kept until it is undone. */
interface HookRecord {
  file: string;
  /** Bytes before, base64; null: there was no file. */
  before: string | null;
  /** Folders that were made for it, deepest first. */
  madeFolders: string[];
  afterHash: string;
  command: string;
}

/** What is to be written into a file; nothing is done yet. */
export interface HookChange {
  file: string;
  before: Buffer | null;
  after: Buffer;
}

/**
 * The file of an agent with our hooks in it, everything else byte for byte as it was. Throws exit 2 when it is no JSON object:
 * nothing is guessed in a file that is not ours.
 */
export function planHooks(file: string, hooks: readonly HookPlace[], command: string): HookChange {
  const target = existsSync(file) ? realpathSync(file) : file;
  const before = existsSync(target) ? readFileSync(target) : null;
  let text = before === null || before.toString('utf8').trim() === '' ? '{}\n' : before.toString('utf8');
  const content = readObject(text, target);
  const present = (content.hooks ?? {}) as Record<string, unknown>;
  for (const { event, matcher, options } of hooks) {
    const group = { ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: 'command', command, ...options }] };
    const groups = present[event];
    const at = Array.isArray(groups) ? groups.length : undefined;
    const edits =
      at === undefined
        ? modify(text, ['hooks', event], [group], {})
        : modify(text, ['hooks', event, at], group, { isArrayInsertion: true });
    text = applyEdits(text, edits);
  }
  return { file: target, before, after: Buffer.from(text) };
}

/** Writes a planned change by rename, the record of it first; the file keeps its mode. Throws exit 4 when it changed meanwhile. */
export function installHooks(home: string, agent: string, change: HookChange, command: string): void {
  const now = existsSync(change.file) ? readFileSync(change.file) : null;
  if (now === null ? change.before !== null : change.before === null || !now.equals(change.before))
    throw failWith(
      'duplicate',
      'file_changed',
      `${change.file} was changed meanwhile; nothing was written. Try again.`,
    );
  const made = missingFolders(dirname(change.file));
  const record: HookRecord = {
    file: change.file,
    before: change.before?.toString('base64') ?? null,
    madeFolders: made,
    afterHash: hashOf(change.after),
    command,
  };
  mkdirSync(dirname(recordFile(home, agent)), { recursive: true, mode: 0o700 });
  replaceFile(recordFile(home, agent), Buffer.from(`${JSON.stringify(record)}\n`), 0o600);
  mkdirSync(dirname(change.file), { recursive: true, mode: 0o700 });
  replaceFile(change.file, change.after, change.before === null ? 0o600 : statSync(change.file).mode & 0o777);
}

/** What `removeHooks` found. */
export type Removed = 'not-installed' | 'restored' | 'taken-out';

/**
 * Takes our hooks out again. As long as nobody changed the file since, its bytes are what they were (or it is gone, as it
 * was); else exactly our entries go and the rest stays.
 */
export function removeHooks(home: string, agent: string): Removed {
  const record = readRecord(home, agent);
  if (!record) return 'not-installed';
  const now = existsSync(record.file) ? readFileSync(record.file) : null;
  const before = record.before === null ? null : Buffer.from(record.before, 'base64');
  let outcome: Removed = 'restored';
  if (now !== null && hashOf(now) === record.afterHash) {
    if (before === null) rmSync(record.file);
    else replaceFile(record.file, before, statSync(record.file).mode & 0o777);
    if (before === null) for (const folder of record.madeFolders) if (!removeEmpty(folder)) break;
  } else if (now !== null && !(before !== null && now.equals(before))) {
    const text = withoutCommand(now.toString('utf8'), record.command, record.file);
    if (text !== now.toString('utf8')) replaceFile(record.file, Buffer.from(text), statSync(record.file).mode & 0o777);
    outcome = 'taken-out';
  }
  rmSync(recordFile(home, agent));
  return outcome;
}

/** Whether our hooks are in the agent's file now; `undefined` when they were never put there. */
export function isInstalled(home: string, agent: string): boolean | undefined {
  const record = readRecord(home, agent);
  if (!record) return undefined;
  return existsSync(record.file) && readFileSync(record.file, 'utf8').includes(JSON.stringify(record.command));
}

/** The text without hooks that run `command`; groups and events that are empty then go too, the rest stays byte for byte. */
function withoutCommand(text: string, command: string, file: string): string {
  readObject(text, file);
  const hooksOf = (): Record<string, unknown> => readObject(text, file).hooks as Record<string, unknown>;
  for (const [event, groups] of Object.entries(hooksOf() ?? {})) {
    if (!Array.isArray(groups)) continue;
    for (let index = groups.length - 1; index >= 0; index--) {
      const entries = (groups[index] as { hooks?: unknown } | null)?.hooks;
      if (!Array.isArray(entries)) continue;
      const ours = entries.flatMap((entry: { command?: unknown } | null, at) =>
        entry?.command === command ? [at] : [],
      );
      if (ours.length > 0 && ours.length === entries.length) text = cut(text, ['hooks', event, index]);
      else for (const at of ours.toReversed()) text = cut(text, ['hooks', event, index, 'hooks', at]);
    }
    const left = hooksOf()[event];
    if (groups.length > 0 && Array.isArray(left) && left.length === 0) text = cut(text, ['hooks', event]);
  }
  return Object.keys(hooksOf() ?? { none: true }).length === 0 ? cut(text, ['hooks']) : text;
}

/** The text without one member of an object or a list, and without the comma that set it apart. */
function cut(text: string, path: (string | number)[]): string {
  const value = findNodeAtLocation(parseTree(text)!, path)!;
  const node = typeof path.at(-1) === 'number' ? value : value.parent!;
  const siblings = node.parent!.children!;
  const at = siblings.indexOf(node);
  const [before, after] = [siblings[at - 1], siblings[at + 1]];
  const from = before ? before.offset + before.length : node.offset;
  const to = !before && after ? after.offset : node.offset + node.length;
  return text.slice(0, from) + text.slice(to);
}

function readObject(text: string, file: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const content = parse(text, errors, { allowTrailingComma: true }) as unknown;
  if (errors.length > 0 || typeof content !== 'object' || content === null || Array.isArray(content))
    throw failWith('invalid', 'not_json', `${file} is no JSON object, so it was not touched. Mend it, then try again.`);
  return content as Record<string, unknown>;
}

function readRecord(home: string, agent: string): HookRecord | undefined {
  const file = recordFile(home, agent);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as HookRecord) : undefined;
}

function recordFile(home: string, agent: string): string {
  return join(home, 'watch', `${agent}.json`);
}

function replaceFile(file: string, content: Buffer, mode: number): void {
  const unfinished = `${file}.${randomUUID()}`;
  writeFileSync(unfinished, content, { mode, flush: true });
  renameSync(unfinished, file);
}

function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
