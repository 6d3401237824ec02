import { branchRef, type ForgeRepository } from '../repository.ts';

/**
 * The one command that brings the forge's base into the operator's checkout by hand: a pull where the base is checked out
 * (with a merge where it has commits of its own), else a fetch into the branch.
 */
export function takeOverCommand(
  repository: ForgeRepository,
  checkout: { isOnBase: boolean; hasOwnCommits: boolean },
): string {
  const ref = branchRef(repository.base);
  const at = ['git', '-C', repository.operatorPath];
  if (!checkout.isOnBase) return shellLine([...at, 'fetch', repository.forgeDir, `${ref}:${ref}`]);
  const how = checkout.hasOwnCommits ? ['--no-rebase', '--no-edit'] : ['--ff-only'];
  return shellLine([...at, 'pull', ...how, repository.forgeDir, ref]);
}

/** A command line as a human can paste it; words are quoted where a shell would split or expand them. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
