import { ok, refuse, type Result } from '../../kernel/index.ts';
import { type Forge, viewCheckout } from '../forge.ts';
import { gitText, locateCheckout, readRef, runGit } from '../git/index.ts';
import { branchRef, forgePlace, type ForgeRepository } from '../repository.ts';
import { baseTip, ensureBareRepository, isAncestor, resolveRef } from './bare-repository.ts';
import { commitTree, mergeTrees } from './merge-trees.ts';
import { takeOverCommand } from './take-over-command.ts';
import { updateRefs } from './update-refs.ts';

/** How the operator's base relates to the forge's, and what would bring them together. */
export type BaseSync =
  | { kind: 'current'; base: string; operator: string }
  | {
      kind: 'move';
      how: 'initial' | 'fast-forward' | 'merge' | 'rewritten';
      from: string | null;
      to: string;
      operator: string;
    }
  /** `command` lets the operator merge by hand; the next import finds that the conflict is gone. */
  | { kind: 'conflict'; from: string; operator: string; files: string[]; command: string };

/**
 * Fetches the operator's base into `refs/operator/<base>` of the forge and says what has to move (design section 6). Nothing
 * moves yet: the caller writes a sync row, then calls `applyBaseSync`. Nothing is written in the checkout.
 */
export function importBase(forge: Forge, repository: ForgeRepository): Promise<Result<BaseSync>> {
  return forge.turns.run(`checkout ${repository.id}`, async () => {
    const operator = await fetchOperatorBase(forge, repository);
    if (!operator.ok) return operator;
    return ok(await planSync(forge, repository, operator.value));
  });
}

/**
 * Moves the forge's base as planned, by compare-and-set. Repeated after it happened it says so again. Refuses `base_moved`
 * when the base is neither where the plan began nor behind its end: import again.
 */
export async function applyBaseSync(
  forge: Forge,
  repository: ForgeRepository,
  move: BaseSync & { kind: 'move' },
): Promise<Result<{ base: string }>> {
  const current = await baseTip(forge, repository);
  const isBefore = (current ?? null) === move.from;
  if (!isBefore && current && (await isAncestor(forge, repository, move.to, current))) return ok({ base: current });
  const moved = await updateRefs(forge, repository, [
    { do: 'set', ref: branchRef(repository.base), to: move.to, old: move.from },
    { do: 'set', ref: syncedRef(repository.base), to: move.operator },
  ]);
  if (moved) return ok({ base: move.to });
  return refuse(
    'wrong-state',
    'base_moved',
    `The base ${repository.base} of repository ${repository.id} moved meanwhile; import it again.`,
    {
      repository: repository.id,
    },
  );
}

async function fetchOperatorBase(forge: Forge, repository: ForgeRepository): Promise<Result<string>> {
  const located = await locateCheckout(repository.operatorPath);
  if (!located.ok) return located;
  const ref = branchRef(repository.base);
  const tip = await readRef(located.value, ref);
  if (!tip)
    return refuse(
      'not-found',
      'base_missing',
      `${repository.operatorPath} has no branch ${repository.base} any more. Create it again, or register the repository with another base.`,
    );
  const view = await viewCheckout(forge, located.value, { refs: [ref], withIndex: false });
  try {
    await ensureBareRepository(forge, repository);
    if ((await resolveRef(forge, repository, operatorRef(repository.base))) === tip) return ok(tip);
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--update-shallow', view.place.gitDir];
    await runGit(forge.git, forgePlace(repository), [...args, `+${ref}:${operatorRef(repository.base)}`], {
      timeoutMs: 600_000,
    });
  } finally {
    await view.close();
  }
  // The ref may have moved between our reading and the fetch; what was fetched counts.
  return ok((await resolveRef(forge, repository, operatorRef(repository.base))) ?? tip);
}

async function planSync(forge: Forge, repository: ForgeRepository, operator: string): Promise<BaseSync> {
  const from = await baseTip(forge, repository);
  if (!from) return { kind: 'move', how: 'initial', from: null, to: operator, operator };
  const synced = await resolveRef(forge, repository, syncedRef(repository.base));
  if (operator === from) {
    // Both are at one commit: from here on the operator may take it back.
    if (synced !== from)
      await updateRefs(forge, repository, [{ do: 'set', ref: syncedRef(repository.base), to: from }]);
    return { kind: 'current', base: from, operator };
  }
  const isBehind = await isAncestor(forge, repository, operator, from);
  if (isBehind && synced !== from) return { kind: 'current', base: from, operator };
  if (await isAncestor(forge, repository, from, operator))
    return { kind: 'move', how: 'fast-forward', from, to: operator, operator };
  // Nothing of ours is on top of what the operator had, and the operator rewrote it: theirs is the base.
  if (synced === from) return { kind: 'move', how: 'rewritten', from, to: operator, operator };
  const merged = await mergeTrees(forge, repository, from, operator);
  if (merged.kind === 'conflict') {
    const command = takeOverCommand(repository, { isOnBase: true, hasOwnCommits: true });
    return { kind: 'conflict', from, operator, files: merged.files, command };
  }
  // The date of theirs: planned again after a crash it is the same commit.
  const seconds = Number(await gitText(forge.git, forgePlace(repository), ['show', '-s', '--format=%ct', operator]));
  const message = `Merge ${repository.base} of the operator's checkout`;
  const to = await commitTree(forge, repository, {
    tree: merged.tree,
    parents: [from, operator],
    message,
    dateMs: seconds * 1000,
  });
  return { kind: 'move', how: 'merge', from, to, operator };
}

/** Where the operator's base was seen last. */
function operatorRef(base: string): string {
  return `refs/operator/${base}`;
}

/** The operator's commit that the forge's base last took in. */
function syncedRef(base: string): string {
  return `refs/chantier/synced/${base}`;
}
