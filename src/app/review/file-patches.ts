import { type ChangedFile, patchOf, type Repository } from '../../forge/index.ts';
import type { AppContext } from '../context.ts';

/** Bounds of what is read of one change. */
export interface PatchBounds {
  /** Bytes of one file's patch; default 1 MiB. */
  fileBytes?: number;
  /** Bytes of all patches together; default 4 MiB. */
  totalBytes?: number;
  /** Files; default 1,000. */
  files?: number;
}

/** The patch of one file as git gives it for exactly this path. */
export interface FilePatch {
  file: ChangedFile;
  /** Whole or `null`, never a part; `null` for binary files too. */
  text: string | null;
  /** Lines that the file gains, without their `+`. */
  addedLines: readonly string[];
  /** Why the file's change is not here whole; `null` when it is. */
  notShown: string | null;
}

/** How many git processes read at a time. */
const width = 4;

/**
 * Reads the patch of each file by its path: no text of the change is ever searched for the place where the next file begins.
 * What a patch adds and removes has to be what git counts for the file, else the file counts as not shown.
 */
export async function readFilePatches(
  ctx: Pick<AppContext, 'forge'>,
  repository: Pick<Repository, 'forgeDir'>,
  change: { base: string; head: string; files: readonly ChangedFile[] },
  bounds: PatchBounds = {},
): Promise<FilePatch[]> {
  const { fileBytes = 1024 * 1024, totalBytes = 4 * 1024 * 1024, files: maxFiles = 1000 } = bounds;
  const patches: FilePatch[] = [];
  let leftBytes = totalBytes;
  const readOne = async (file: ChangedFile, index: number): Promise<FilePatch> => {
    if (file.isBinary) return { file, text: null, addedLines: [], notShown: null };
    if (index >= maxFiles) return missing(file, `the change has more than ${maxFiles} files`);
    if (leftBytes <= 0) return missing(file, 'the change as a whole is too large to show');
    const paths = file.oldPath === undefined ? [file.path] : [file.oldPath, file.path];
    const maxBytes = Math.min(fileBytes, leftBytes);
    const { text, isCut } = await patchOf(ctx.forge, repository, change.base, change.head, { paths, maxBytes });
    if (isCut) return missing(file, 'its change is too large to show');
    leftBytes -= Buffer.byteLength(text);
    const lines = linesOfPatch(text);
    if (!lines || !agrees(lines, file, change.files))
      return missing(file, 'what can be shown of it is not what git counts for it');
    return { file, text, addedLines: lines.added, notShown: null };
  };
  for (let at = 0; at < change.files.length; at += width) {
    const some = change.files.slice(at, at + width);
    patches.push(...(await Promise.all(some.map((file, offset) => readOne(file, at + offset)))));
  }
  return patches;
}

function missing(file: ChangedFile, notShown: string): FilePatch {
  return { file, text: null, addedLines: [], notShown };
}

/** Whether the patch holds all that git counts. A path that was a file and became a folder takes in what lies below it. */
function agrees(lines: { added: string[]; removed: number }, file: ChangedFile, all: readonly ChangedFile[]): boolean {
  // Git counts what two kinds of a path have in common, and shows one taken away and the other added.
  if (file.status === 'type-changed') return true;
  const below = all.filter((one) => one !== file && [one.path, one.oldPath].some((path) => isBelow(path, file)));
  const sum = (part: 'added' | 'deleted'): number =>
    [file, ...below].reduce((total, one) => total + (one[part] ?? 0), 0);
  return lines.added.length === sum('added') && lines.removed === sum('deleted');
}

function isBelow(path: string | undefined, file: ChangedFile): boolean {
  return path !== undefined && [file.path, file.oldPath].some((one) => one !== undefined && path.startsWith(`${one}/`));
}

/**
 * The lines that a patch adds, and how many it takes away, read by the counts in the heads of its hunks: a line of a file that looks
 * like a head of a patch stays a line. `undefined` when it is empty or not well formed.
 */
export function linesOfPatch(patch: string): { added: string[]; removed: number } | undefined {
  if (patch === '') return undefined;
  const lines = patch.split('\n');
  const added: string[] = [];
  let removed = 0;
  for (let at = 0; at < lines.length;) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at++] ?? '');
    if (!hunk) continue;
    let old = Number(hunk[1] ?? 1);
    let now = Number(hunk[2] ?? 1);
    while (old > 0 || now > 0) {
      const line = lines[at++];
      if (line === undefined) return undefined;
      const mark = line[0];
      if (mark === '\\') continue;
      if (mark !== '+' && mark !== '-' && mark !== ' ') return undefined;
      if (mark !== '+') old -= 1;
      if (mark !== '-') now -= 1;
      if (mark === '+') added.push(line.slice(1));
      if (mark === '-') removed += 1;
    }
    if (old !== 0 || now !== 0) return undefined;
  }
  return { added, removed };
}
