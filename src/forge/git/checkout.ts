import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { readRegularText } from './read-regular.ts';

/** Where the parts of an operator's checkout lie. Found by reading files only; no git command is run in it. */
export interface Checkout {
  /** Top folder of the work tree, real path. */
  top: string;
  /** Git folder of this work tree (`HEAD`, `index`). */
  gitDir: string;
  /** Git folder that all its work trees share (`objects`, `refs`, `config`). */
  commonDir: string;
}

/** Finds the checkout that holds `path` (default rule of git: the nearest parent with `.git`). Refuses what is none. */
export async function locateCheckout(path: string): Promise<Result<Checkout>> {
  let at: string;
  try {
    at = await realpath(resolve(path));
    if (!(await stat(at)).isDirectory()) at = dirname(at);
  } catch {
    return refuse('not-found', 'path_missing', `There is no folder ${path}. Name the folder of a git checkout.`);
  }
  const start = at;
  for (;;) {
    const found = await gitDirIn(at);
    if (found) return ok({ top: at, gitDir: found, commonDir: await commonDirOf(found) });
    if (await looksBare(at))
      return refuse(
        'invalid',
        'bare_repository',
        `${at} is a bare repository. Name a checkout with a work tree (git clone it first).`,
      );
    const parent = dirname(at);
    if (parent === at) break;
    at = parent;
  }
  return refuse(
    'invalid',
    'not_a_repository',
    `${start} is not in a git repository. Run \`git init\` and commit there, or name another folder.`,
  );
}

/** The commit (or tag) id that `ref` names, following symbolic refs; `undefined` when it does not exist. */
export async function readRef(checkout: Checkout, ref: string, depth = 0): Promise<string | undefined> {
  if (depth > 5 || ref.includes('..') || ref.startsWith('/')) return undefined;
  const isPerWorkTree = !ref.startsWith('refs/') || ref.startsWith('refs/bisect/') || ref.startsWith('refs/worktree/');
  const text = await readRegularText(join(isPerWorkTree ? checkout.gitDir : checkout.commonDir, ref), 4096);
  if (text?.startsWith('ref: ')) return readRef(checkout, text.slice(5).trim(), depth + 1);
  if (text && isObjectId(text)) return text;
  return (await readPackedRefs(checkout)).get(ref);
}

/** What HEAD points to: a branch (perhaps not born yet) or a commit. */
export async function readHead(
  checkout: Checkout,
): Promise<{ branch: string | undefined; commit: string | undefined }> {
  const text = (await readRegularText(join(checkout.gitDir, 'HEAD'), 4096)) ?? '';
  const target = /^ref: (refs\/\S.*)$/.exec(text)?.[1];
  const branch = target?.startsWith('refs/heads/') ? target.slice('refs/heads/'.length) : undefined;
  return { branch, commit: await readRef(checkout, target ?? 'HEAD') };
}

/** Full SHA-1 or SHA-256 object id. */
export function isObjectId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** Every ref of `packed-refs`. */
export async function readPackedRefs(checkout: Checkout): Promise<Map<string, string>> {
  const text = (await readRegularText(join(checkout.commonDir, 'packed-refs'), 64 * 1024 * 1024)) ?? '';
  const refs = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [id, name] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    if (isObjectId(id)) refs.set(name, id);
  }
  return refs;
}

async function gitDirIn(folder: string): Promise<string | undefined> {
  const dotGit = join(folder, '.git');
  const entry = await stat(dotGit).catch(() => undefined);
  if (entry?.isDirectory()) return (await isFile(join(dotGit, 'HEAD'))) ? realpath(dotGit) : undefined;
  if (!entry?.isFile()) return undefined;
  const target = /^gitdir: (.+)$/m.exec((await readRegularText(dotGit, 65_536)) ?? '')?.[1];
  if (!target) return undefined;
  return realpath(resolve(folder, target.trim())).catch(() => undefined);
}

async function commonDirOf(gitDir: string): Promise<string> {
  const common = await readRegularText(join(gitDir, 'commondir'), 65_536);
  return common ? realpath(resolve(gitDir, common)) : gitDir;
}

async function looksBare(folder: string): Promise<boolean> {
  const [head, objects, refs] = await Promise.all([
    isFile(join(folder, 'HEAD')),
    lstat(join(folder, 'objects')).then(
      (entry) => entry.isDirectory(),
      () => false,
    ),
    lstat(join(folder, 'refs')).then(
      (entry) => entry.isDirectory(),
      () => false,
    ),
  ]);
  return head && objects && refs;
}

function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (entry) => entry.isFile() || entry.isSymbolicLink(),
    () => false,
  );
}
