import { Fault } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { runGit } from '../git/index.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';

/** One line of a ref transaction. `old` undefined = whatever it was; `null` = it must not exist. */
export type RefChange =
  | { do: 'verify'; ref: string; old: string }
  | { do: 'set'; ref: string; to: string; old?: string | null }
  | { do: 'delete'; ref: string; old?: string };

/** Changes refs all or none; `false` when one of them was not as expected (compare-and-set lost). */
export async function updateRefs(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  changes: readonly RefChange[],
): Promise<boolean> {
  const lines = ['start', ...changes.map(lineOf), 'prepare', 'commit', ''];
  const answer = await runGit(forge.git, forgePlace(repository), ['update-ref', '--stdin', '--create-reflog'], {
    input: lines.join('\n'),
    answers: [0, 1, 128],
  });
  if (answer.exitCode === 0) return true;
  if (/but expected|reference already exists|unable to resolve reference|reference is missing/.test(answer.stderr))
    return false;
  const isBusy = /Unable to create .*\.lock|File exists/.test(answer.stderr);
  throw new Fault('refs_not_updated', `git update-ref failed: ${answer.stderr.trim().slice(0, 300)}`, {
    retryable: isBusy,
  });
}

function lineOf(change: RefChange): string {
  if (change.do === 'verify') return `verify ${change.ref} ${change.old}`;
  if (change.do === 'delete')
    return change.old === undefined ? `delete ${change.ref}` : `delete ${change.ref} ${change.old}`;
  if (change.old === null) return `create ${change.ref} ${change.to}`;
  return change.old === undefined
    ? `update ${change.ref} ${change.to}`
    : `update ${change.ref} ${change.to} ${change.old}`;
}
