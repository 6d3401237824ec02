import { join } from 'node:path';

import { forLog } from '../kernel/index.ts';
import { usesLfsAt } from './checks/check-pointers.ts';
import type { Forge } from './forge.ts';
import { gitRecords, type View } from './git/index.ts';
import { hasSubmodule, listSubmodules } from './work-folders/fill-submodules.ts';

const composeFiles = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];

/** What a human should know before agents work on a commit: what their folders will not hold or reach. Nothing is fetched. */
export async function noteLimits(forge: Forge, view: View, commit: string): Promise<string[]> {
  const notes: string[] = [];
  const modules = join(view.checkout.commonDir, 'modules');
  const submodules = await listSubmodules(forge, view.place, commit);
  const missing: string[] = [];
  for (const one of submodules) if (!(await hasSubmodule(forge, modules, one))) missing.push(forLog(one.path, 80));
  if (submodules.length > 0)
    notes.push(
      `${submodules.length} submodule${submodules.length === 1 ? '' : 's'}: agents get the files that your checkout has fetched, to read; nothing is fetched from anywhere.`,
    );
  if (missing.length > 0)
    notes.push(
      `Not fetched in your checkout: ${missing.slice(0, 10).join(', ')}. Run git submodule update --init there if the checks need it.`,
    );
  if (await usesLfsAt(forge, view.place, commit))
    notes.push(
      'git-lfs: work folders hold pointers without their content; checks that read the content fail, and changed content does not land.',
    );
  const names = new Set(await gitRecords(forge.git, view.place, ['ls-tree', '-z', '--name-only', commit]));
  if (names.has('.husky')) notes.push('Hooks of .husky run when agents commit, inside the sandbox only.');
  if (composeFiles.some((name) => names.has(name)))
    notes.push('A compose file: docker cannot be reached from inside the sandbox; checks that start containers fail.');
  return notes;
}
