import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { type GitPlace, gitRecords, gitText, readStatus, runGit, serverIdentity } from '../git/index.ts';
import { saveRescueRef } from '../local/rescue.ts';
import { type ForgeRepository, forgePlace } from '../repository.ts';
import { fetchFromClone, incomingRef } from './fetch-from-clone.ts';
import { hasClone, withServerIndex } from './inspect-work-folder.ts';
import { unreadable } from './take-branch.ts';
import type { InSandbox, WorkFolder } from './work-folder.ts';

/**
 * Puts everything of a work folder that the forge's branches do not have into rescue refs: unfetched commits of every branch,
 * of a detached HEAD and of the stash, and the uncommitted files as one commit on HEAD. Call it when no process works there
 * any more. Gives the refs; none = nothing would be lost. Refuses `clone_unreadable` and `nested_repository` (a repository
 * inside the clone that no commit can hold): the folder has to stay.
 */
export async function saveWork(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  inside: InSandbox,
): Promise<Result<{ refs: string[] }>> {
  if (!(await hasClone(folder))) return ok({ refs: [] });
  let clone;
  try {
    clone = await fetchFromClone(forge, repository, folder, inside);
  } catch (error) {
    return unreadable(folder, error);
  }
  const refs: string[] = [];
  const tips = new Map([...clone.refs].map(([name, id]) => [name.replace(/^refs\/(heads\/)?/, ''), id]));
  if (clone.headCommit && clone.headBranch === undefined) tips.set('detached-head', clone.headCommit);
  for (const [name, commit] of tips) {
    if (await isSafe(forge, repository, commit)) continue;
    refs.push(await saveRescueRef(forge, repository, `${folder.ownerKey}/${name}`, commit));
  }
  const snapshot = await snapshotFiles(forge, repository, folder, clone.headCommit);
  if (!snapshot.ok) return snapshot;
  if (snapshot.value)
    refs.push(await saveRescueRef(forge, repository, `${folder.ownerKey}/uncommitted`, snapshot.value));
  return ok({ refs });
}

/** Whether a branch of the forge, the operator's base or a rescue ref has the commit; the incoming refs do not count. */
async function isSafe(forge: Forge, repository: ForgeRepository, commit: string): Promise<boolean> {
  const places = ['refs/heads/', 'refs/operator/', 'refs/chantier/rescue/', 'refs/chantier/history/'];
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${commit}`, ...places];
  return (await gitText(forge.git, forgePlace(repository), args)) !== '';
}

/** One commit with the uncommitted files, written straight into the forge; `undefined` = there are none. */
function snapshotFiles(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  head: string | undefined,
): Promise<Result<string | undefined>> {
  return withServerIndex<Result<string | undefined>>(forge, repository, folder, head, async (view) => {
    if ((await readStatus(forge.git, view)).isClean) return ok(undefined);
    const place = { ...view, objectDirectory: `${repository.forgeDir}/objects` };
    const add = ['add', '--all', '--sparse', '--ignore-errors', '--', '.'];
    const added = await runGit(forge.git, place, add, { timeoutMs: 600_000, umask: '022', answers: [0, 1, 128] });
    if (added.exitCode !== 0) {
      const unsaved = await unsavedFiles(forge, place);
      if (unsaved.length > 0) {
        const message = `${unsaved[0]} of ${folder.ownerKey} could not be read, so it cannot be saved. Look at ${folder.clone}.`;
        return refuse('wrong-state', 'unreadable_files', message, { paths: unsaved });
      }
    }
    const nested = await newGitlinks(forge, place, head);
    if (nested.length > 0) {
      const message = `The clone of ${folder.ownerKey} holds a git repository of its own in ${nested[0]}, which no rescue ref can hold. Move it away from ${folder.clone}, then try again.`;
      return refuse('wrong-state', 'nested_repository', message, { paths: nested });
    }
    const tree = await gitText(forge.git, place, ['write-tree'], { umask: '022' });
    if (head && tree === (await gitText(forge.git, place, ['rev-parse', `${head}^{tree}`]))) return ok(undefined);
    const parents = head ? ['-p', head] : [];
    const message = `Uncommitted work of ${folder.ownerKey}\n`;
    const options = { input: message, author: serverIdentity, dateMs: forge.clock.now(), umask: '022' };
    return ok(await gitText(forge.git, place, ['commit-tree', tree, ...parents, '-F', '-'], options));
  });
}

/** Files that differ still after everything was added: FIFOs, sockets and devices hold no work, anything else does. */
async function unsavedFiles(forge: Forge, place: GitPlace): Promise<string[]> {
  const status = await readStatus(forge.git, place, { everyFile: true });
  const unsaved: string[] = [];
  for (const path of [...status.unstaged, ...status.untracked]) {
    const entry = await lstat(join(place.workTree ?? '/', path)).catch(() => undefined);
    if (entry?.isFile() || entry?.isSymbolicLink() || entry?.isDirectory()) unsaved.push(path);
  }
  return unsaved;
}

async function newGitlinks(
  forge: Forge,
  place: Parameters<typeof runGit>[1],
  head: string | undefined,
): Promise<string[]> {
  const entries = await gitRecords(forge.git, place, ['ls-files', '--stage', '-z']);
  const links = entries
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
  if (links.length === 0 || !head) return links;
  const known = await gitRecords(forge.git, place, ['ls-tree', '-r', '-z', '--name-only', head]);
  return links.filter((path) => !known.includes(path));
}

/** Forgets what was fetched from a folder and judged; called once the folder is gone. */
export async function dropIncoming(
  forge: Forge,
  repository: ForgeRepository,
  folder: Pick<WorkFolder, 'ownerKey'>,
): Promise<void> {
  const text = await gitText(forge.git, forgePlace(repository), [
    'for-each-ref',
    '--format=delete %(refname)',
    incomingRef(folder, ''),
  ]);
  if (text !== '') await runGit(forge.git, forgePlace(repository), ['update-ref', '--stdin'], { input: `${text}\n` });
}
