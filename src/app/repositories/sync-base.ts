import { ok, type Result, systemActor } from '../../kernel/index.ts';
import {
  applyBaseSync,
  ensureBareRepository,
  importBase,
  isAncestor,
  preparedBaseMoves,
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
  if (sync.value.kind === 'current') {
    await settleMovesLeftOver(ctx, repository, sync.value.base);
    return ok({ base: sync.value.base });
  }
  if (sync.value.kind === 'conflict') {
    const { from, operator, files, command } = sync.value;
    const dedupeKey = conflictKey(repository.id);
    if (await isAsked(ctx, dedupeKey, operator)) return ok({ base: from });
    await ctx.store.tx(async (tx) => {
      await voidDecisions(tx, { dedupeKey }, 'base moved');
      await openDecision(tx, {
        kind: 'base_conflict',
        subject: { kind: 'repository', id: repository.id },
        dedupeKey,
        title: `${repository.name}: your ${repository.base} and the landed one cannot be merged`,
        detail: { repository: repository.name, base: repository.base, ours: from, theirs: operator, files, command },
        actor,
      });
    });
    return ok({ base: from });
  }
  const move = sync.value;
  const row = await ctx.store.tx((tx) =>
    prepareBaseMove(tx, { repositoryId: repository.id, kind: 'sync', from: move.from, to: move.to, actor }),
  );
  const applied = await applyBaseSync(ctx.forge, repository, move);
  await ctx.store.tx(async (tx) => {
    await settleBaseMove(tx, { id: row.id, state: applied.ok ? 'done' : 'lost', actor });
    await voidDecisions(tx, { dedupeKey: conflictKey(repository.id) }, 'base moved');
  });
  return applied;
}

/** Whether a human is asked about exactly this conflict already; loops come by often, and asking writes. */
async function isAsked(ctx: AppContext, dedupeKey: string, operator: string): Promise<boolean> {
  const open = await ctx.store.read
    .selectFrom('decision_request')
    .select('detail')
    .where('dedupe_key', '=', dedupeKey)
    .where('state', '=', 'open')
    .executeTakeFirst();
  return open !== undefined && (JSON.parse(open.detail) as { theirs?: string }).theirs === operator;
}

/** Settles rows of a server that ended between its compare-and-set and the row: ancestry says whether they happened. */
async function settleMovesLeftOver(ctx: AppContext, repository: Repository, base: string): Promise<void> {
  for (const move of await preparedBaseMoves(ctx.store.read, repository.id)) {
    if (move.kind !== 'sync') continue;
    const isDone = await isAncestor(ctx.forge, repository, move.to, base).catch(() => false);
    await ctx.store.tx((tx) => settleBaseMove(tx, { id: move.id, state: isDone ? 'done' : 'lost', actor }));
  }
}

function conflictKey(repositoryId: string): string {
  return `base_conflict:${repositoryId}`;
}
