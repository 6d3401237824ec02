import type { RepositoryId } from '../kernel/index.ts';
import type { LandingMode } from './detect-repository.ts';
import type { GitPlace } from './git/index.ts';
import type { RepositoryConfig } from './repository-config.ts';

/** `file`: a part of it comes from `chantier.yml`. `operator`: inferred, with the operator's own words. */
export type ConfigSource = 'inferred' | 'file' | 'operator';

/** A registered repository, as used. */
export interface Repository {
  id: RepositoryId;
  name: string;
  /** Top folder of the operator's checkout. */
  operatorPath: string;
  base: string;
  mode: LandingMode;
  remote: { name: string; url: string } | undefined;
  /** Bare repository of the local forge. */
  forgeDir: string;
  /** The trusted configuration: all that is executed or decides. With nothing trusted yet it is `nothingTrusted`. */
  config: RepositoryConfig;
  /** Whether there is a trusted configuration; nothing runs and nothing lands before (design section 4). */
  isTrusted: boolean;
  /** What was read or said last; it waits for trust, and governs nothing, while `isLatestTrusted` is false. */
  latest: { config: RepositoryConfig; source: ConfigSource; digest: string };
  isLatestTrusted: boolean;
  /** Where the trusted configuration came from. */
  trustedSource: ConfigSource | undefined;
  createdAt: number;
}

/** What the git effects need to know of a repository. */
export type ForgeRepository = Pick<Repository, 'id' | 'operatorPath' | 'base' | 'forgeDir'>;

/** The bare repository as a place for git commands. */
export function forgePlace(repository: Pick<Repository, 'forgeDir'>): GitPlace {
  return { gitDir: repository.forgeDir };
}

/** Ref of a branch. */
export function branchRef(branch: string): string {
  return `refs/heads/${branch}`;
}

/** The template of decision: `chantier/<agent>/issue-<n>` (design section 6). */
export function branchName(agent: string, number: number): string {
  return `chantier/${agent}/issue-${number}`;
}

/** Agent and number of a branch by our template or the seed's `<agent>/issue-<n>`; parsed from the right (A1). */
export function parseBranchName(branch: string): { agent: string; number: number } | undefined {
  const match = /^(?:chantier\/)?(.+)\/issue-(\d{1,9})$/.exec(branch);
  return match?.[1] ? { agent: match[1], number: Number(match[2]) } : undefined;
}
