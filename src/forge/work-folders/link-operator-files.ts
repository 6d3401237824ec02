import { realpathSync } from 'node:fs';
import { lchown, symlink } from 'node:fs/promises';
import { join } from 'node:path';

import type { Sandbox } from '../../sandbox/index.ts';
import type { ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { makeParents } from './make-parents.ts';
import type { WorkFolder } from './work-folder.ts';

type Linking = Pick<ForgeRepository, 'operatorPath'> & { config: Pick<RepositoryConfig, 'workspace'> };

/**
 * Real paths of what `workspace.link` names in the operator's checkout, for the sandbox to show read-only. Left out: what is
 * not there, what leaves the checkout by a symlink, and its git folder.
 */
export function linkedPaths({ operatorPath, config }: Linking): string[] {
  return (config.workspace.link ?? []).flatMap((path) => {
    const real = resolveInside(operatorPath, path);
    return real === undefined ? [] : [real];
  });
}

/** Puts a symlink to each of `linkedPaths` into a fresh clone where nothing is in its place. Gives the paths that were made. */
export async function linkOperatorFiles(
  repository: Linking,
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
): Promise<string[]> {
  const made: string[] = [];
  for (const path of repository.config.workspace.link ?? []) {
    const target = resolveInside(repository.operatorPath, path);
    if (target === undefined) continue;
    const link = join(folder.clone, path);
    if (!(await makeParents(folder.clone, path))) continue;
    const isNew = await symlink(target, link).then(
      () => true,
      () => false,
    );
    if (!isNew) continue;
    if (sandbox.owner) await lchown(link, sandbox.owner.uid, sandbox.owner.gid);
    made.push(path);
  }
  return made;
}

function resolveInside(top: string, path: string): string | undefined {
  try {
    const real = realpathSync(join(top, path));
    const isInside = real.startsWith(`${top}/`) && !real.slice(top.length).split('/').includes('.git');
    return isInside ? real : undefined;
  } catch {
    return undefined;
  }
}
