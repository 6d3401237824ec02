import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { type GitIdentity } from '../git/index.ts';
import { branchRef, type ForgeRepository, type Repository } from '../repository.ts';
import { baseTip, resolveRef, treeOf } from './bare-repository.ts';
import type { Candidate } from './candidate.ts';
import { commitTree, mergeTreesFrom } from './merge-trees.ts';
import { shellLine } from './take-over-command.ts';
import { updateRefs } from './update-refs.ts';

/** A reviewed change that waits in the forge to be fetched and pushed by a human (mode `branch`). */
export interface ReviewedBranch {
  /** Branch in the forge. */
  branch: string;
  commit: string;
  /** The exact commands for the operator's terminal, in order. */
  commands: string[];
}

/**
 * Ends a landing of a repository in mode `branch`: the checked candidate becomes a branch of the forge that the operator's
 * checkout can fetch. Nothing is pushed. Repeated, it gives the same answer. Refuses `branch_taken` by another commit.
 */
export async function publishReviewedBranch(
  forge: Forge,
  repository: ForgeRepository & Pick<Repository, 'remote'>,
  candidate: Candidate,
  branch: string,
): Promise<Result<ReviewedBranch>> {
  const reviewed = `reviewed/${branch}`;
  const ref = branchRef(reviewed);
  const existing = await resolveRef(forge, repository, ref);
  if (existing !== candidate.commit) {
    if (existing !== undefined)
      await updateRefs(forge, repository, [
        { do: 'set', ref: `refs/chantier/rescue/reviewed/${existing}`, to: existing },
      ]);
    const moved = await updateRefs(forge, repository, [
      { do: 'set', ref, to: candidate.commit, old: existing ?? null },
    ]);
    if (!moved)
      return refuse(
        'wrong-state',
        'branch_taken',
        `Branch ${reviewed} of repository ${repository.id} changed meanwhile; try again.`,
      );
  }
  const remote = repository.remote?.name ?? 'origin';
  const commands = [
    shellLine(['git', '-C', repository.operatorPath, 'fetch', repository.forgeDir, `${ref}:${branchRef(branch)}`]),
    shellLine(['git', '-C', repository.operatorPath, 'push', remote, branch]),
  ];
  return ok({ branch: reviewed, commit: candidate.commit, commands });
}

/**
 * Builds the commit that takes a landing back, on the current base tip, as branch `branch` of the forge; it is reviewed and
 * lands like any other change (design section 6 "Undo"). Refuses `merge_conflict` and `nothing_to_land`.
 */
export async function buildRevert(
  forge: Forge,
  repository: ForgeRepository,
  request: { landed: string; branch: string; message: string; author: GitIdentity; dateMs: number },
): Promise<Result<{ commit: string; branch: string }>> {
  const tip = await baseTip(forge, repository);
  if (!tip)
    return refuse('wrong-state', 'base_not_imported', `Repository ${repository.id} has no base yet; import it first.`);
  const trees = {
    ancestor: await treeOf(forge, repository, request.landed),
    ours: await treeOf(forge, repository, tip),
    theirs: await treeOf(forge, repository, `${request.landed}^1`),
  };
  const merged = await mergeTreesFrom(forge, repository, trees);
  if (merged.kind === 'conflict') {
    return refuse(
      'not-landed',
      'merge_conflict',
      `Later commits changed the same lines; the revert of ${request.landed.slice(0, 12)} conflicts in ${merged.files.slice(0, 5).join(', ')}.`,
      {
        files: merged.files,
      },
    );
  }
  if (merged.tree === trees.ours)
    return refuse(
      'not-landed',
      'nothing_to_land',
      `Nothing of ${request.landed.slice(0, 12)} is left in ${repository.base} to take back.`,
    );
  const { message, author, dateMs } = request;
  const commit = await commitTree(forge, repository, { tree: merged.tree, parents: [tip], message, author, dateMs });
  await updateRefs(forge, repository, [{ do: 'set', ref: branchRef(request.branch), to: commit }]);
  return ok({ commit, branch: request.branch });
}
