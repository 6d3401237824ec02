import { newShortId, ok, refuse, type Result } from '../../kernel/index.ts';
import { buildRevert, changedFiles, patchIdOf, repositoryById, serverIdentity } from '../../forge/index.ts';
import { openPullRequest, readLanding, readPullRequest, requestRevert } from '../../review/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { syncBase } from '../repositories/sync-base.ts';

/** `revert`: a commit that takes a landing back, on the present base, put up for review like any change (design section 6 "Undo"). */
export async function openRevert(
  ctx: AppContext,
  caller: Caller,
  landingId: string,
  reason: string,
): Promise<Result<{ id: string }>> {
  const landing = await readLanding(ctx.store.read, landingId);
  if (!landing) return refuse('not-found', 'unknown_landing', `There is no landing ${landingId}.`, { id: landingId });
  const repository = await repositoryById(ctx.store.read, landing.repositoryId);
  const undone = await readPullRequest(ctx.store.read, landing.pullRequestId);
  if (!repository || !undone || landing.landedCommit === null || landing.mode !== 'base') {
    return refuse(
      'wrong-state',
      'not_on_base',
      `Landing ${landingId} is not on a base that this instance moves; revert it where it was pushed.`,
      { id: landingId },
    );
  }
  const synced = await syncBase(ctx, repository);
  if (!synced.ok) return synced;
  const branch = `chantier/revert/${undone.number}-${newShortId(4)}`;
  const title = `Revert "${undone.title}"`;
  const built = await buildRevert(ctx.forge, repository, {
    landed: landing.landedCommit,
    branch,
    message: `${title}\n\n${reason}\n`,
    author: serverIdentity,
    dateMs: ctx.store.clock.now(),
  });
  if (!built.ok) return built;
  const change = await changedFiles(ctx.forge, repository, synced.value.base, built.value.commit);
  const patchId = await patchIdOf(ctx.forge, repository, change.mergeBase, built.value.commit);
  return once(ctx.store, caller, 'landing.revert', { landingId, reason }, async (tx) => {
    const requested = await requestRevert(tx, { landingId, reason, actor: caller.actor });
    if (!requested.ok) return requested;
    const opened = await openPullRequest(tx, {
      repositoryId: repository.id,
      ...(undone.projectId ? { projectId: undone.projectId } : {}),
      title,
      body: reason,
      branch,
      baseRef: repository.base,
      headSha: built.value.commit,
      baseSha: change.mergeBase,
      ...(patchId === undefined ? {} : { patchId }),
      author: { agent: 'chantier', family: 'unknown' },
      maxRounds: ctx.config.get('review.maxRounds'),
      revertOf: landingId,
      actor: caller.actor,
    });
    return opened.ok ? ok({ id: opened.value.id }) : opened;
  });
}
