import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { newId } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { gitText, locateCheckout, readRegularText, readSettings, runGit } from '../git/index.ts';
import { branchRef, forgePlace, type ForgeRepository } from '../repository.ts';

/**
 * Makes the bare repository of the local forge when it is not there. Its files are readable by others, so that a sandbox
 * with another user id can borrow objects from it; the folder above is not. Safe to repeat after a crash.
 */
export async function ensureBareRepository(forge: Forge, repository: ForgeRepository): Promise<void> {
  if (
    await stat(join(repository.forgeDir, 'HEAD')).then(
      () => true,
      () => false,
    )
  )
    return;
  const folder = dirname(repository.forgeDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fresh = join(folder, `.new-${newId<string>()}`);
  const args = [
    'init',
    '--quiet',
    '--bare',
    '--template=',
    '--shared=0644',
    `--object-format=${await objectFormatOf(forge, repository)}`,
    `--initial-branch=${repository.base}`,
  ];
  await runGit(forge.git, { gitDir: fresh }, [...args, fresh]);
  await mkdir(join(fresh, 'info'), { recursive: true });
  try {
    await rename(fresh, repository.forgeDir);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // Another step made it first.
    if (
      !(await stat(join(repository.forgeDir, 'HEAD')).then(
        () => true,
        () => false,
      ))
    )
      throw error;
  }
}

/** How the forge's repository names objects, as its own configuration says. */
export async function objectFormatIn(repository: Pick<ForgeRepository, 'forgeDir'>): Promise<'sha1' | 'sha256'> {
  const config = (await readRegularText(join(repository.forgeDir, 'config'))) ?? '';
  return /^\s*objectformat\s*=\s*sha256/im.test(config) ? 'sha256' : 'sha1';
}

/** The operator's checkout decides how objects are named; both must agree. */
async function objectFormatOf(forge: Forge, repository: ForgeRepository): Promise<string> {
  const located = await locateCheckout(repository.operatorPath);
  if (!located.ok) return 'sha1';
  const format = (await readSettings(forge.git, located.value)).get('extensions.objectformat');
  return format === 'sha256' ? 'sha256' : 'sha1';
}

/** The commit at the tip of the forge's base; `undefined` before the first import. */
export function baseTip(forge: Forge, repository: ForgeRepository): Promise<string | undefined> {
  return resolveRef(forge, repository, branchRef(repository.base));
}

/** The id that a ref of the forge has; `undefined` when it does not exist. */
export async function resolveRef(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  ref: string,
): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', ref];
  const answer = await runGit(forge.git, forgePlace(repository), args, { answers: [0, 1] });
  return answer.exitCode === 0 ? answer.stdout.toString('utf8').trim() : undefined;
}

/** Tree of a commit in the forge. */
export function treeOf(forge: Forge, repository: Pick<ForgeRepository, 'forgeDir'>, commit: string): Promise<string> {
  return gitText(forge.git, forgePlace(repository), ['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`]);
}

/** Ids of several commits or trees (`<commit>^{tree}`, `refs/…`) by one process; throws `Fault` when one of them is missing. */
export async function resolveAll(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  names: readonly string[],
): Promise<string[]> {
  const odd = names.find((name) => !/^(?:refs\/|[0-9a-f]{40})/.test(name));
  if (odd !== undefined) throw new Error(`not a ref or object id: ${odd}`);
  return (await gitText(forge.git, forgePlace(repository), ['rev-parse', ...names])).split('\n');
}

/** Whether `ancestor` is in the history of `commit` (a commit is its own ancestor). */
export async function isAncestor(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  ancestor: string,
  commit: string,
): Promise<boolean> {
  const answer = await runGit(forge.git, forgePlace(repository), ['merge-base', '--is-ancestor', ancestor, commit], {
    answers: [0, 1],
  });
  return answer.exitCode === 0;
}
