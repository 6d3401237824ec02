import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { type GitIdentity, gitText } from '../git/index.ts';
import { branchRef, forgePlace, type ForgeRepository } from '../repository.ts';
import { baseTip, isAncestor, resolveAll } from './bare-repository.ts';
import { commitTree, mergeTrees } from './merge-trees.ts';
import { updateRefs } from './update-refs.ts';

/** The trailer that names a landing in its commit. */
export const landingTrailer = 'Chantier-Landing';

/** The commit that would become the base, before anything moved. */
export interface Candidate {
  landingId: string;
  commit: string;
  tree: string;
  /** Base tip that it stands on; the compare-and-set expects it. */
  baseTip: string;
  /** Reviewed head that it carries. */
  head: string;
  method: 'squash' | 'merge';
}

/**
 * Builds the candidate of a landing on the current base tip (or on `onto`) and keeps it under a ref of its own. The same
 * request on the same tip gives the same commit id. Refuses `merge_conflict` (files named), `nothing_to_land`,
 * `forged_trailer` (decision 5 of the review part).
 */
export async function buildCandidate(
  forge: Forge,
  repository: ForgeRepository,
  request: {
    landingId: string;
    head: string;
    method: 'squash' | 'merge';
    /** Subject, empty line, body; without our trailer. */
    message: string;
    author: GitIdentity;
    /** Epoch ms that the commit carries; take the landing's creation. */
    dateMs: number;
    onto?: string;
  },
): Promise<Result<Candidate>> {
  const tip = request.onto ?? (await baseTip(forge, repository));
  if (!tip)
    return refuse('wrong-state', 'base_not_imported', `Repository ${repository.id} has no base yet; import it first.`);
  const [forged, merged, [tipTree]] = await Promise.all([
    commitsWithTrailer(forge, repository, tip, request.head),
    mergeTrees(forge, repository, tip, request.head),
    resolveAll(forge, repository, [`${tip}^{tree}`]),
  ]);
  if (forged.length > 0) {
    const message = `Commit ${forged[0]} carries the trailer ${landingTrailer}, which only a landing may write. The author has to rewrite that message.`;
    return refuse('not-permitted', 'forged_trailer', message, { commits: forged });
  }
  if (merged.kind === 'conflict') {
    const message = `The change conflicts with ${repository.base} in ${merged.files.slice(0, 5).join(', ')}. The author has to bring it up to date.`;
    return refuse('not-landed', 'merge_conflict', message, { files: merged.files, baseTip: tip });
  }
  if (merged.tree === tipTree) {
    const message = `The change adds nothing to ${repository.base}; it may be there already.`;
    return refuse('not-landed', 'nothing_to_land', message, { baseTip: tip });
  }
  const parents = request.method === 'merge' ? [tip, request.head] : [tip];
  const message = landingMessage(request.message, request.landingId);
  const commit = await commitTree(forge, repository, {
    tree: merged.tree,
    parents,
    message,
    author: request.author,
    dateMs: request.dateMs,
  });
  await updateRefs(forge, repository, [{ do: 'set', ref: candidateRef(request.landingId), to: commit }]);
  return ok({
    landingId: request.landingId,
    commit,
    tree: merged.tree,
    baseTip: tip,
    head: request.head,
    method: request.method,
  });
}

/**
 * Moves the base to the candidate by compare-and-set, with the reviewed head verified in the same transaction. Repeated
 * after a crash, ancestry of the candidate's id decides. Refuses `base_moved` and `head_moved`: build and check a new one.
 */
export async function landCandidate(
  forge: Forge,
  repository: ForgeRepository,
  candidate: Candidate,
  branch?: string,
): Promise<Result<{ commit: string; wasAlready: boolean }>> {
  const moved = await updateRefs(forge, repository, [
    ...(branch === undefined ? [] : [{ do: 'verify', ref: branchRef(branch), old: candidate.head } as const]),
    { do: 'set', ref: branchRef(repository.base), to: candidate.commit, old: candidate.baseTip },
  ]);
  if (moved) return ok({ commit: candidate.commit, wasAlready: false });
  const nowAt = await baseTip(forge, repository);
  if (nowAt && (await isAncestor(forge, repository, candidate.commit, nowAt)))
    return ok({ commit: candidate.commit, wasAlready: true });
  if (nowAt === candidate.baseTip)
    return refuse(
      'not-landed',
      'head_moved',
      `Branch ${branch} is not at the reviewed commit ${candidate.head.slice(0, 12)} any more; the approval does not count for it.`,
    );
  return refuse(
    'not-landed',
    'base_moved',
    `${repository.base} moved while landing ${candidate.landingId}; a new candidate has to be built and checked.`,
    {
      baseTip: nowAt ?? null,
    },
  );
}

/** What became of a landing: by ancestry of the candidate, and by comparing its tree with an honest merge. */
export interface LandingVerification {
  isLanded: boolean;
  /** False = the landed tree is not what merging the head into its first parent gives: stop the base and tell a human. */
  treeMatches: boolean;
  baseTip: string | undefined;
}

/** Looks whether a candidate is in the base, and checks its tree (review part, P3 "land"; field cases 1 and 2). */
export async function verifyLanding(
  forge: Forge,
  repository: ForgeRepository,
  landed: Pick<Candidate, 'commit' | 'head'>,
): Promise<LandingVerification> {
  const names = [`${landed.commit}^1`, `${landed.commit}^{tree}`, branchRef(repository.base)];
  const [parent = '', tree, tip] = await resolveAll(forge, repository, names);
  const [honest, isLanded] = await Promise.all([
    mergeTrees(forge, repository, parent, landed.head),
    tip === undefined ? false : isAncestor(forge, repository, landed.commit, tip),
  ]);
  return { isLanded, treeMatches: honest.kind === 'clean' && honest.tree === tree, baseTip: tip };
}

/** Forgets the ref that kept a candidate; what landed stays by ancestry. */
export async function dropCandidate(forge: Forge, repository: ForgeRepository, landingId: string): Promise<void> {
  await updateRefs(forge, repository, [{ do: 'delete', ref: candidateRef(landingId) }]);
}

async function commitsWithTrailer(
  forge: Forge,
  repository: ForgeRepository,
  tip: string,
  head: string,
): Promise<string[]> {
  const args = [
    'log',
    '--format=%H',
    '--extended-regexp',
    '--regexp-ignore-case',
    `--grep=^[[:space:]]*${landingTrailer}[[:space:]]*:`,
  ];
  const found = await gitText(forge.git, forgePlace(repository), [...args, head, `^${tip}`]);
  return found === '' ? [] : found.split('\n');
}

/** A message that comes from an agent's words cannot bring a trailer of ours along. */
function landingMessage(message: string, landingId: string): string {
  const pattern = new RegExp(`^\\s*${landingTrailer}\\s*:`, 'i');
  const clean = message
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .split('\n')
    .filter((line) => !pattern.test(line));
  return `${clean.join('\n').trim() || 'Land a change'}\n\n${landingTrailer}: ${landingId}\n`;
}

function candidateRef(landingId: string): string {
  return `refs/chantier/candidate/${landingId}`;
}
