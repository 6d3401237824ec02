import { baseTip, repositoryById } from '../../forge/index.ts';
import { listLandings, pullRequestsTopic } from '../../review/index.ts';
import { done, failed, type PassOutcome, type Reconciler, startReconciler } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { syncBase } from '../repositories/sync-base.ts';

/** The loop that takes in what operators commit to a base on which something is offered: one look for each repository. */
export function startBaseWatch(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'bases',
    list: () => repositoriesWithOffers(ctx),
    pass: (id) => watchBase(ctx, id),
    everyMs: 10_000,
    concurrency: 2,
    onError: (error) => ctx.log.error({ err: error }, 'the watch over bases could not look'),
    onPass: ({ id, outcome }) => {
      if (outcome.kind === 'failed') ctx.log.warn({ err: outcome.error, repository: id }, 'a base cannot be read');
    },
  });
}

/** Brings one base up to date and wakes the pull requests whose offered candidate stands on an older one. */
export async function watchBase(ctx: AppContext, repositoryId: string): Promise<PassOutcome> {
  const repository = await repositoryById(ctx.store.read, repositoryId);
  if (!repository || ctx.halt.isOn()) return done;
  const synced = await syncBase(ctx, repository);
  const tip = await baseTip(ctx.forge, repository);
  const offered = await listLandings(ctx.store.read, { repositoryId, states: ['offered'], limit: 10_000 });
  const stale = offered.filter((landing) => landing.baseTip !== tip);
  if (stale.length > 0)
    await ctx.store.tx(async (tx) => {
      for (const landing of stale) tx.wake(pullRequestsTopic, landing.pullRequestId);
    });
  return synced.ok ? done : failed(new Error(synced.refusal.message));
}

async function repositoriesWithOffers(ctx: AppContext): Promise<string[]> {
  const rows = await ctx.store.read
    .selectFrom('landing')
    .select('repository_id')
    .distinct()
    .where('state', '=', 'offered')
    .execute();
  return rows.map((row) => row.repository_id);
}
