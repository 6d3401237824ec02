import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { digestOf, forLog } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { type GitPlace, gitRecords, locateCheckout, runGit } from '../git/index.ts';
import type { ChangeFacts } from '../local/changed-files.ts';
import { type ForgeRepository, forgePlace } from '../repository.ts';
import type { CheckResult } from './run-checks.ts';

/** Name of the check that the server adds to repositories with git-lfs. */
export const pointersCheck = 'lfs-pointers';

const pointer =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:[\s\S]*\n)?oid sha256:([0-9a-f]{64})\nsize \d+\n$/;

/**
 * Work folders hold the pointers of git-lfs and not the content, and no filter turns new content into a pointer. So a changed
 * file that its attributes give to git-lfs must still be a pointer, to content that the base or the operator's own store has;
 * anything else would land a damaged file. Gives a red result, or `undefined` where nothing is wrong (or nothing uses git-lfs).
 */
export async function checkPointers(
  forge: Forge,
  repository: ForgeRepository,
  commit: string,
  change: Pick<ChangeFacts, 'files' | 'mergeBase'>,
): Promise<CheckResult | undefined> {
  const paths = change.files.filter((file) => file.status !== 'deleted' && !file.isGitlink).map((file) => file.path);
  if (paths.length === 0 || !(await usesLfs(forge, repository, commit))) return undefined;
  const faults: string[] = [];
  for (const path of await pathsOfLfs(forge, repository, commit, paths)) {
    const fault = await faultOf(forge, repository, commit, change.mergeBase, path);
    if (fault) faults.push(`${forLog(path, 200)}: ${fault}`);
  }
  if (faults.length === 0) return undefined;
  const tail = [
    'Files that git-lfs keeps would land damaged:',
    ...faults.slice(0, 50),
    'Put the pointer of the base back (git checkout BASE -- FILE). New content of such files is added by a human, with git-lfs.',
  ].join('\n');
  const facts = { name: pointersCheck, exitCode: null, durationMs: 0, logPath: undefined };
  return { ...facts, status: 'failed', tail, definitionDigest: digestOf({ name: pointersCheck }) };
}

/** Whether any `.gitattributes` of a commit of the forge gives files to git-lfs. */
export function usesLfs(forge: Forge, repository: Pick<ForgeRepository, 'forgeDir'>, commit: string): Promise<boolean> {
  return usesLfsAt(forge, forgePlace(repository), commit);
}

/** As `usesLfs`, in any server-owned place. */
export async function usesLfsAt(forge: Forge, place: GitPlace, commit: string): Promise<boolean> {
  const args = ['grep', '-q', '-e', 'filter=lfs', commit, '--', ':(glob)**/.gitattributes'];
  return (await runGit(forge.git, place, args, { answers: [0, 1], globPathspecs: true })).exitCode === 0;
}

async function pathsOfLfs(
  forge: Forge,
  repository: ForgeRepository,
  commit: string,
  paths: readonly string[],
): Promise<string[]> {
  await mkdir(forge.folders.scratch, { recursive: true, mode: 0o700 });
  const scratch = await mkdtemp(join(forge.folders.scratch, 'attributes-'));
  const place = { ...forgePlace(repository), indexFile: join(scratch, 'index') };
  try {
    await runGit(forge.git, place, ['read-tree', commit]);
    const input = paths.map((path) => `${path}\0`).join('');
    const records = await gitRecords(forge.git, place, ['check-attr', '--cached', '-z', '--stdin', 'filter'], {
      input,
    });
    return records.flatMap((path, at) => (at % 3 === 0 && records[at + 2] === 'lfs' ? [path] : []));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function faultOf(
  forge: Forge,
  repository: ForgeRepository,
  commit: string,
  base: string,
  path: string,
): Promise<string | undefined> {
  const place = forgePlace(repository);
  const show = ['cat-file', 'blob', `${commit}:${path}`];
  const blob = await runGit(forge.git, place, show, { maxOutputBytes: 4096, cut: true });
  const oid = blob.isCut ? undefined : pointer.exec(blob.stdout.toString('utf8'))?.[1];
  if (oid === undefined) return 'content instead of a pointer';
  const inBase = ['grep', '-q', '-F', '-e', `oid sha256:${oid}`, base];
  if ((await runGit(forge.git, place, inBase, { answers: [0, 1] })).exitCode === 0) return undefined;
  const located = await locateCheckout(repository.operatorPath);
  const store = located.ok
    ? join(located.value.commonDir, 'lfs', 'objects', oid.slice(0, 2), oid.slice(2, 4), oid)
    : '';
  const isThere = (await lstat(store).catch(() => undefined))?.isFile() === true;
  return isThere ? undefined : 'a pointer to content that nobody has';
}
