import { ok, type Result, systemActor } from '../../kernel/index.ts';
import {
  applyBaseSync,
  ensureBareRepository,
  importBase,
  prepareBaseMove,
  type Repository,
  settleBaseMove,
} from '../../forge/index.ts';
import { openDecision, voidDecisions } from '../../store/index.ts';
import type { AppContext } from '../context.ts';

const actor = systemActor('base-sync');

/**
 * Brings the operator's base into the forge: a plain move gets a `sync` row and happens; a conflict becomes a decision
 * (design section 6 "The operator's own checkout"). Gives the base tip. Safe to repeat after a crash at any step.
 */
export async function syncBase(ctx: AppContext, repository: Repository): Promise<Result<{ base: string }>> {
  await ensureBareRepository(ctx.forge, repository);
  const sync = await importBase(ctx.forge, repository);
  if (!sync.ok) return sync;
  if (sync.value.kind === 'current') return ok({ base: sync.value.base });
  if (sync.value.kind === 'conflict') {
    const { from, operator, files, command } = sync.value;
    await ctx.store.tx((tx) =>
      openDecision(tx, {
        kind: 'base_conflict',
        subject: { kind: 'repository', id: repository.id },
        title: `${repository.name}: your ${repository.base} and the landed one cannot be merged`,
        detail: { repository: repository.name, base: repository.base, ours: from, theirs: operator, files, command },
        actor,
      }),
    );
    return ok({ base: from });
  }
  const move = sync.value;
  const row = await ctx.store.tx((tx) =>
    prepareBaseMove(tx, { repositoryId: repository.id, kind: 'sync', from: move.from, to: move.to, actor }),
  );
  const applied = await applyBaseSync(ctx.forge, repository, move);
  await ctx.store.tx(async (tx) => {
    await settleBaseMove(tx, { id: row.id, state: applied.ok ? 'done' : 'lost', actor });
    await voidDecisions(tx, { kind: 'base_conflict', subjectId: repository.id }, 'base moved');
  });
  return applied;
}
