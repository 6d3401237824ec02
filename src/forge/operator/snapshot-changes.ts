import { ok, refuse, type Result } from '../../kernel/index.ts';
import { type Forge, viewCheckout } from '../forge.ts';
import {
  type GitIdentity,
  gitText,
  locateCheckout,
  readHead,
  readRef,
  readStatus,
  runGit,
  serverIdentity,
} from '../git/index.ts';
import { resolveRef } from '../local/bare-repository.ts';
import { updateRefs } from '../local/update-refs.ts';
import { branchRef, forgePlace, type ForgeRepository } from '../repository.ts';

/**
 * Takes the operator's uncommitted work (staged, unstaged, untracked; not ignored) as one commit on the base into
 * `refs/chantier/changes/<key>` of the forge (`--with-changes`). The checkout's index, files and stash stay as they are.
 * Repeated with the same key it gives the first snapshot. Refuses `not_on_base`, `unmerged_files`, `nothing_to_snapshot`.
 */
export async function snapshotChanges(
  forge: Forge,
  repository: ForgeRepository,
  key: string,
  author: GitIdentity = serverIdentity,
): Promise<Result<{ commit: string; ref: string; files: string[] }>> {
  const ref = `refs/chantier/changes/${key}`;
  const located = await locateCheckout(repository.operatorPath);
  if (!located.ok) return located;
  const known = await resolveRef(forge, repository, ref);
  if (known) return ok({ commit: known, ref, files: await filesOf(forge, repository, known) });
  const base = await readRef(located.value, branchRef(repository.base));
  const head = await readHead(located.value);
  if (!base || head.commit !== base)
    return refuse(
      'wrong-state',
      'not_on_base',
      `${repository.operatorPath} is not at the tip of ${repository.base}; check it out, or commit the work and leave --with-changes out.`,
    );
  const view = await viewCheckout(forge, located.value);
  try {
    const status = await readStatus(forge.git, view.withFiles);
    if (status.unmerged.length > 0)
      return refuse(
        'wrong-state',
        'unmerged_files',
        `${repository.operatorPath} has unmerged files (${status.unmerged.slice(0, 5).join(', ')}); finish the merge first.`,
      );
    if (status.isClean)
      return refuse(
        'wrong-state',
        'nothing_to_snapshot',
        `${repository.operatorPath} has no uncommitted work; leave --with-changes out.`,
      );
    await runGit(forge.git, view.withFiles, ['add', '--all', '--', '.'], { timeoutMs: 300_000 });
    const tree = await gitText(forge.git, view.place, ['write-tree']);
    const message = `Uncommitted work of ${repository.base}\n`;
    const dateMs = forge.clock.now();
    const commit = await gitText(forge.git, view.place, ['commit-tree', tree, '-p', base, '-F', '-'], {
      input: message,
      author,
      dateMs,
    });
    await runGit(forge.git, view.place, ['update-ref', 'refs/heads/chantier-snapshot', commit]);
    const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--update-shallow', view.place.gitDir];
    await runGit(
      forge.git,
      forgePlace(repository),
      [...fetch, `refs/heads/chantier-snapshot:refs/chantier/incoming/${key}`],
      { timeoutMs: 300_000 },
    );
    await updateRefs(forge, repository, [
      { do: 'set', ref, to: commit, old: null },
      { do: 'delete', ref: `refs/chantier/incoming/${key}` },
    ]);
    return ok({ commit, ref, files: await filesOf(forge, repository, commit) });
  } finally {
    await view.close();
  }
}

async function filesOf(forge: Forge, repository: ForgeRepository, commit: string): Promise<string[]> {
  const names = await gitText(forge.git, forgePlace(repository), [
    'diff-tree',
    '-r',
    '-z',
    '--name-only',
    '--no-commit-id',
    commit,
  ]);
  return names.split('\0').filter(Boolean);
}
