import { type Fault, ok, refuse, type Result } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { baseTip, isAncestor, resolveRef } from '../local/bare-repository.ts';
import { commitsAhead } from '../local/changed-files.ts';
import { updateRefs } from '../local/update-refs.ts';
import { branchRef, type ForgeRepository } from '../repository.ts';
import { fetchFromClone } from './fetch-from-clone.ts';
import type { InSandbox, WorkFolder } from './work-folder.ts';

/** What was taken from a work folder. */
export interface TakenBranch {
  branch: string;
  commit: string;
  /** Commit that the forge's branch had before; `undefined` = it is new. */
  previous: string | undefined;
  /** Commits that the base does not have; 0 = nothing delivered. */
  ahead: number;
  /** False = the author rewrote the branch; the previous head is kept below `refs/chantier/history/`. */
  isFastForward: boolean;
}

/**
 * Takes the branch of a work folder into the forge. Repeated, it takes whatever is there now. Refuses `branch_lost`
 * when the clone has no such branch, `clone_unreadable` when upload-pack fails, `branch_moved` when another step was faster.
 */
export async function takeBranch(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  inside: InSandbox,
): Promise<Result<TakenBranch>> {
  if (folder.branch === undefined) throw new Error(`work folder ${folder.ownerKey} has no branch to take`);
  const ref = branchRef(folder.branch);
  const previous = await resolveRef(forge, repository, ref);
  let commit: string | undefined;
  try {
    commit = (await fetchFromClone(forge, repository, folder, inside)).refs.get(ref);
  } catch (error) {
    return unreadable(folder, error);
  }
  if (!commit)
    return refuse(
      'wrong-state',
      'branch_lost',
      `The clone of ${folder.ownerKey} has no branch ${folder.branch} any more; its author has to create it again.`,
    );
  const isFastForward = previous === undefined || (await isAncestor(forge, repository, previous, commit));
  const kept =
    isFastForward || previous === undefined
      ? []
      : [{ do: 'set', ref: `refs/chantier/history/${previous}`, to: previous } as const];
  const moved = await updateRefs(forge, repository, [...kept, { do: 'set', ref, to: commit, old: previous ?? null }]);
  if (!moved)
    return refuse(
      'wrong-state',
      'branch_moved',
      `Branch ${folder.branch} of the forge moved meanwhile; take it again.`,
    );
  const base = await baseTip(forge, repository);
  const ahead = base ? await commitsAhead(forge, repository, base, commit) : 0;
  return ok({ branch: folder.branch, commit, previous, ahead, isFastForward });
}

/** The refusal for a clone that its own git cannot serve; anything else is thrown on. */
export function unreadable(folder: WorkFolder, error: unknown): Result<never> {
  const code = (error as Fault).code;
  if (code !== 'git_failed' && code !== 'git_timeout' && code !== 'git_output_too_large' && code !== 'too_many_refs')
    throw error;
  const reason = (error as Error).message;
  return refuse(
    'wrong-state',
    'clone_unreadable',
    `The clone of ${folder.ownerKey} could not be read: ${reason}. Look at ${folder.clone}.`,
  );
}
