import type { Forge } from '../forge.ts';
import { type GitIdentity, gitText, runGit, serverIdentity } from '../git/index.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';

/** What merging two commits gives, without any work tree. */
export type MergeOutcome = { kind: 'clean'; tree: string } | { kind: 'conflict'; files: string[] };

/** Merges `theirs` into `ours` from their merge base. */
export async function mergeTrees(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  ours: string,
  theirs: string,
): Promise<MergeOutcome> {
  const args = [
    'merge-tree',
    '--write-tree',
    '-z',
    '--name-only',
    '--no-messages',
    '--allow-unrelated-histories',
    ours,
    theirs,
  ];
  const answer = await runGit(forge.git, forgePlace(repository), args, { answers: [0, 1] });
  const [tree = '', ...rest] = answer.stdout.toString('utf8').split('\0');
  if (answer.exitCode === 0) return { kind: 'clean', tree: tree.trim() };
  return { kind: 'conflict', files: [...new Set(rest.filter(Boolean))] };
}

/** A three-way merge of three trees with `ancestor` as the base; for reverts, where history would choose another base. */
export async function mergeTreesFrom(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  trees: { ancestor: string; ours: string; theirs: string },
): Promise<MergeOutcome> {
  // git < 2.40 has no `--merge-base`; three loose commits over the trees say the same.
  const at = { dateMs: 0 };
  const root = await commitTree(forge, repository, { tree: trees.ancestor, parents: [], message: 'ancestor', ...at });
  const ours = await commitTree(forge, repository, { tree: trees.ours, parents: [root], message: 'ours', ...at });
  const theirs = await commitTree(forge, repository, { tree: trees.theirs, parents: [root], message: 'theirs', ...at });
  return mergeTrees(forge, repository, ours, theirs);
}

/** Writes a commit object into the forge; the same input gives the same id. `dateMs` is epoch ms. */
export function commitTree(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  commit: { tree: string; parents: readonly string[]; message: string; author?: GitIdentity; dateMs: number },
): Promise<string> {
  const parents = commit.parents.flatMap((parent) => ['-p', parent]);
  return gitText(forge.git, forgePlace(repository), ['commit-tree', commit.tree, ...parents, '-F', '-'], {
    input: commit.message.endsWith('\n') ? commit.message : `${commit.message}\n`,
    author: commit.author ?? serverIdentity,
    dateMs: commit.dateMs,
  });
}
