import { type Actor, type Id, newId, ok, refuse, type Result } from '../kernel/index.ts';
import { refuseUnlessHuman, type Tx } from '../store/index.ts';
import { holdLanding } from './landing-store.ts';

export type RevertId = Id<'landing-revert'>;
/** Woken with the revert's id when one was asked for; the app builds its branch and opens its pull request. */
export const revertsTopic = 'reverts';

/**
 * A human asks to undo a landing (decision 8): the undo is a change like others, reviewed and landed. Refuses `human_only`,
 * `unknown_landing`, `landing_state` (has not landed) and `revert_open`.
 */
export async function requestRevert(
  tx: Tx,
  request: { landingId: string; reason: string; actor: Actor },
): Promise<Result<{ revertId: RevertId; pullRequestId: string }>> {
  const notHuman = refuseUnlessHuman({
    actor: request.actor,
    act: 'revert',
    subject: { kind: 'landing', id: request.landingId },
  });
  if (notHuman) return notHuman;
  const landing = await holdLanding(tx, request.landingId);
  if (!landing)
    return refuse('not-found', 'unknown_landing', `unknown id ${request.landingId}`, { id: request.landingId });
  if (landing.state !== 'landed') {
    return refuse(
      'wrong-state',
      'landing_state',
      `Landing ${landing.id} is ${landing.state}; only a landed one can be undone.`,
      { id: landing.id },
    );
  }
  const open = await tx.db
    .selectFrom('landing_revert')
    .select('id')
    .where('landing_id', '=', landing.id)
    .where('state', '<>', 'abandoned')
    .executeTakeFirst();
  if (open)
    return refuse('duplicate', 'revert_open', `Landing ${landing.id} already has a revert (${open.id}).`, {
      id: open.id,
    });
  const id = newId<RevertId>();
  await tx.db
    .insertInto('landing_revert')
    .values({
      id,
      landing_id: landing.id,
      reason: request.reason,
      requested_by: request.actor.id,
      pull_request_id: null,
      state: 'requested',
      created_at: tx.now,
      ended_at: null,
    })
    .execute();
  await tx.emit({
    kind: 'revert.requested',
    actor: request.actor,
    subject: { kind: 'landing', id: landing.id },
    facts: { revert_id: id, pull_request_id: landing.pullRequestId, commit: landing.landedCommit },
  });
  tx.wake(revertsTopic, id);
  return ok({ revertId: id, pullRequestId: landing.pullRequestId });
}

/** Ties the requested revert of a landing to the pull request that carries it out. */
export async function linkRevert(tx: Tx, landingId: string, pullRequestId: string, actor: Actor): Promise<void> {
  const row = await tx.db
    .updateTable('landing_revert')
    .set({ pull_request_id: pullRequestId, state: 'open' })
    .where('landing_id', '=', landingId)
    .where('state', '=', 'requested')
    .returning('id')
    .executeTakeFirst();
  if (!row) return;
  await tx.emit({
    kind: 'revert.opened',
    actor,
    subject: { kind: 'landing', id: landingId },
    facts: { revert_id: row.id, pull_request_id: pullRequestId },
  });
}

/** Ends the revert that this pull request carries out. */
export async function settleRevert(tx: Tx, pullRequestId: string, state: 'landed' | 'abandoned'): Promise<void> {
  await tx.db
    .updateTable('landing_revert')
    .set({ state, ended_at: tx.now })
    .where('pull_request_id', '=', pullRequestId)
    .where('state', '=', 'open')
    .execute();
}
