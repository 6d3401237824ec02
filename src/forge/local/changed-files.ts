import { posix } from 'node:path';

import type { Forge } from '../forge.ts';
import { gitRecords, gitText, runGit } from '../git/index.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';

/** One file that a change touches, with the facts that risk rules ask for (R-38, design section 6 "Always by a human"). */
export interface ChangedFile {
  path: string;
  /** Where a renamed file came from. */
  oldPath: string | undefined;
  status: 'added' | 'deleted' | 'modified' | 'renamed' | 'type-changed';
  /** Lines; `undefined` for binary files. */
  added: number | undefined;
  deleted: number | undefined;
  isBinary: boolean;
  /** Bytes after the change; 0 when deleted. */
  sizeBytes: number;
  isSymlink: boolean;
  /** A symlink whose target is absolute or climbs out of the tree. */
  leavesTree: boolean;
  isGitlink: boolean;
  /** The executable bit was set or taken away. */
  modeChanged: boolean;
  isTest: boolean;
}

/** A whole change against the point where it left the base. */
export interface ChangeFacts {
  mergeBase: string;
  head: string;
  files: ChangedFile[];
  addedLines: number;
  deletedLines: number;
  deletedTests: string[];
  /** Test files in which the change adds a mark that skips or narrows tests. */
  skippedTests: string[];
  /** Manifests whose `scripts` the change alters. */
  changedScripts: string[];
}

const testPath =
  /(^|\/)(tests?|__tests__|specs?)\/|[._-](test|spec)\.[\w]+$|(^|\/)test_[^/]+\.py$|_test\.(go|py|rb|exs?)$|(^|\/)conftest\.py$/i;
const skipMark =
  /\.(skip|only|todo)\b\s*\(|\bx(it|describe|test)\s*\(|@pytest\.mark\.skip|@unittest\.skip|@(Disabled|Ignore)\b|#\[ignore|\bt\.Skip\(|\bpending\s*\(|\bskip\s*:\s*true/;

/** Lists what `head` changes since it left `base` (a commit or the tip of the forge's base). Both must be in the forge. */
export async function changedFiles(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
): Promise<ChangeFacts> {
  const place = forgePlace(repository);
  const mergeBase = await findMergeBase(forge, repository, base, head);
  const range = [mergeBase, head, '--'];
  const common = ['diff-tree', '-r', '-z', '-M', '--no-ext-diff', '--no-textconv', '--ignore-submodules=none'];
  const raw = await gitRecords(forge.git, place, [...common, '--raw', '--no-abbrev', ...range]);
  const counts = parseCounts(await gitRecords(forge.git, place, [...common, '--numstat', ...range]));
  const entries = parseRaw(raw);
  const sizes = await sizesOf(forge, repository, entries);
  const files: ChangedFile[] = [];
  for (const entry of entries) {
    const count = counts.get(entry.path);
    const isSymlink = entry.newMode === '120000';
    files.push({
      path: entry.path,
      oldPath: entry.oldPath,
      status: entry.status,
      added: count?.added,
      deleted: count?.deleted,
      isBinary: count !== undefined && count.added === undefined,
      sizeBytes: sizes.get(entry.newId) ?? 0,
      isSymlink,
      leavesTree: isSymlink && leavesTree(entry.path, await linkTarget(forge, repository, entry.newId)),
      isGitlink: entry.newMode === '160000' || entry.oldMode === '160000',
      modeChanged: entry.status !== 'added' && entry.status !== 'deleted' && entry.oldMode !== entry.newMode,
      isTest: testPath.test(entry.path) || (entry.oldPath !== undefined && testPath.test(entry.oldPath)),
    });
  }
  return {
    mergeBase,
    head,
    files,
    addedLines: files.reduce((sum, file) => sum + (file.added ?? 0), 0),
    deletedLines: files.reduce((sum, file) => sum + (file.deleted ?? 0), 0),
    deletedTests: files.filter((file) => file.status === 'deleted' && file.isTest).map((file) => file.path),
    skippedTests: await findSkips(forge, repository, mergeBase, head, files),
    changedScripts: await findChangedScripts(forge, repository, mergeBase, head, files),
  };
}

/** The change as patch text, cut at `maxBytes` (default 1 MiB) with `isCut` said; no driver of a repository runs. */
export async function patchOf(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
  options: { maxBytes?: number; paths?: readonly string[] } = {},
): Promise<{ text: string; isCut: boolean }> {
  const mergeBase = await findMergeBase(forge, repository, base, head);
  const args = [
    'diff-tree',
    '-r',
    '-p',
    '-M',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=none',
    '--full-index',
    mergeBase,
    head,
    '--',
  ];
  const answer = await runGit(forge.git, forgePlace(repository), [...args, ...(options.paths ?? [])], {
    maxOutputBytes: options.maxBytes ?? 1024 * 1024,
    cut: true,
  });
  return { text: answer.stdout.toString('utf8'), isCut: answer.isCut };
}

/** How many commits `head` is ahead of where it left `base`. */
export async function commitsAhead(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
): Promise<number> {
  return Number(await gitText(forge.git, forgePlace(repository), ['rev-list', '--count', head, `^${base}`]));
}

/** The stable patch id of a change: equal after a clean rebase, so that an approval can be carried over (review part, P1). */
export async function patchIdOf(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
): Promise<string | undefined> {
  const patch = await patchOf(forge, repository, base, head, { maxBytes: 64 * 1024 * 1024 });
  if (patch.isCut || patch.text === '') return undefined;
  const answer = await gitText(forge.git, forgePlace(repository), ['patch-id', '--stable'], { input: patch.text });
  return answer.split(' ')[0];
}

/** Where two commits part; the empty tree when they share nothing. */
export async function findMergeBase(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
): Promise<string> {
  const answer = await runGit(forge.git, forgePlace(repository), ['merge-base', base, head], { answers: [0, 1] });
  if (answer.exitCode === 0) return answer.stdout.toString('utf8').trim();
  return gitText(forge.git, forgePlace(repository), ['hash-object', '-t', 'tree', '--stdin'], { input: '' });
}

interface RawEntry {
  oldMode: string;
  newMode: string;
  newId: string;
  status: ChangedFile['status'];
  path: string;
  oldPath: string | undefined;
}

const statusNames: Readonly<Record<string, ChangedFile['status']>> = {
  A: 'added',
  C: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type-changed',
};

function parseRaw(records: string[]): RawEntry[] {
  const entries: RawEntry[] = [];
  for (let at = 0; at < records.length;) {
    const [oldMode = '', newMode = '', , newId = '', letter = ''] = (records[at++] ?? '').slice(1).split(' ');
    const status = statusNames[letter[0] ?? ''] ?? 'modified';
    const isMove = letter.startsWith('R') || letter.startsWith('C');
    const first = records[at++] ?? '';
    const path = isMove ? (records[at++] ?? '') : first;
    entries.push({ oldMode, newMode, newId, status, path, oldPath: isMove ? first : undefined });
  }
  return entries;
}

function parseCounts(records: string[]): Map<string, { added: number | undefined; deleted: number | undefined }> {
  const counts = new Map<string, { added: number | undefined; deleted: number | undefined }>();
  for (let at = 0; at < records.length; at++) {
    // A name may hold tabs itself.
    const [, added = '', deleted = '', name = ''] = /^([^\t]*)\t([^\t]*)\t([^]*)$/.exec(records[at] ?? '') ?? [];
    // A rename prints an empty name, then the old and the new one as records of their own.
    const path = name === '' ? (records[(at += 2)] ?? '') : name;
    const toNumber = (text: string): number | undefined => (text === '-' ? undefined : Number(text));
    counts.set(path, { added: toNumber(added), deleted: toNumber(deleted) });
  }
  return counts;
}

async function sizesOf(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  entries: RawEntry[],
): Promise<Map<string, number>> {
  const ids = entries
    .filter((entry) => !/^0+$/.test(entry.newId) && entry.newMode !== '160000')
    .map((entry) => entry.newId);
  if (ids.length === 0) return new Map();
  const args = ['cat-file', '--batch-check=%(objectname) %(objectsize)'];
  const lines = await gitText(forge.git, forgePlace(repository), args, { input: `${ids.join('\n')}\n` });
  return new Map(lines.split('\n').map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

async function linkTarget(forge: Forge, repository: Pick<ForgeRepository, 'forgeDir'>, id: string): Promise<string> {
  const answer = await runGit(forge.git, forgePlace(repository), ['cat-file', 'blob', id], {
    maxOutputBytes: 8192,
    cut: true,
  });
  return answer.stdout.toString('utf8');
}

function leavesTree(path: string, target: string): boolean {
  if (posix.isAbsolute(target)) return true;
  const resolved = posix.normalize(posix.join(posix.dirname(path), target));
  return resolved === '..' || resolved.startsWith('../') || resolved === '.git' || resolved.startsWith('.git/');
}

async function findSkips(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
  files: ChangedFile[],
): Promise<string[]> {
  const skipped: string[] = [];
  for (const file of files.filter((one) => one.isTest && one.status !== 'deleted' && !one.isBinary).slice(0, 200)) {
    const paths = file.oldPath ? [file.oldPath, file.path] : [file.path];
    const { text } = await patchOf(forge, repository, base, head, { paths, maxBytes: 512 * 1024 });
    const adds = text
      .split('\n')
      .some((line) => line.startsWith('+') && !line.startsWith('+++') && skipMark.test(line));
    if (adds) skipped.push(file.path);
  }
  return skipped;
}

async function findChangedScripts(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  base: string,
  head: string,
  files: ChangedFile[],
): Promise<string[]> {
  const manifests = files.filter((file) => posix.basename(file.path) === 'package.json');
  const changed: string[] = [];
  for (const file of manifests.slice(0, 50)) {
    const before = await scriptsAt(forge, repository, base, file.oldPath ?? file.path);
    const after = await scriptsAt(forge, repository, head, file.path);
    if (before !== after) changed.push(file.path);
  }
  return changed;
}

async function scriptsAt(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  commit: string,
  path: string,
): Promise<string> {
  const answer = await runGit(forge.git, forgePlace(repository), ['cat-file', 'blob', `${commit}:${path}`], {
    answers: [0, 128],
    maxOutputBytes: 1024 * 1024,
    cut: true,
  });
  if (answer.exitCode !== 0) return '{}';
  try {
    const manifest = JSON.parse(answer.stdout.toString('utf8')) as { scripts?: unknown };
    return JSON.stringify(manifest.scripts ?? {});
  } catch {
    // Not readable as JSON: every such change counts as one of scripts.
    return `unreadable ${answer.stdout.length}`;
  }
}
