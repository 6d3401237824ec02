import type { Kysely, Updateable } from 'kysely';

import { type Actor, refuse, type Refused, statesBefore, systemActor } from '../kernel/index.ts';
import { type EventKind, type Schema, type Tx, voidDecisions } from '../store/index.ts';
import {
  autoLandingAfter,
  type Landing,
  landingMoves,
  landingOf,
  landingsTopic,
  type LandingState,
} from './landing.ts';
import type { PullRequest } from './pull-request.ts';
import { readContributors } from './pull-request-store.ts';

export async function readLanding(db: Kysely<Schema>, id: string): Promise<Landing | undefined> {
  const row = await db.selectFrom('landing').selectAll().where('id', '=', id).executeTakeFirst();
  return row && landingOf(row);
}

/** Landings, newest first; `limit` default 100. */
export async function listLandings(
  db: Kysely<Schema>,
  filter: { pullRequestId?: string; repositoryId?: string; states?: readonly LandingState[]; limit?: number } = {},
): Promise<Landing[]> {
  let query = db.selectFrom('landing').selectAll();
  if (filter.pullRequestId !== undefined) query = query.where('pull_request_id', '=', filter.pullRequestId);
  if (filter.repositoryId !== undefined) query = query.where('repository_id', '=', filter.repositoryId);
  if (filter.states !== undefined) query = query.where('state', 'in', [...filter.states]);
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(filter.limit ?? 100)
    .execute();
  return rows.map(landingOf);
}

/** The landing of a pull request that has not ended, or `undefined`; there is at most one. */
export async function readOpenLanding(db: Kysely<Schema>, pullRequestId: string): Promise<Landing | undefined> {
  const row = await db
    .selectFrom('landing')
    .selectAll()
    .where('pull_request_id', '=', pullRequestId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return row && landingOf(row);
}

export async function holdLanding(tx: Tx, id: string): Promise<Landing | undefined> {
  let query = tx.db.selectFrom('landing').selectAll().where('id', '=', id);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  return row && landingOf(row);
}

/** Moves a landing by its table of moves, with its event. Refuses `landing_state`. */
export async function moveLanding(
  tx: Tx,
  landing: Landing,
  move: { to: LandingState; kind: EventKind; actor: Actor; reason?: string; set?: Updateable<Schema['landing']> },
): Promise<Landing | Refused> {
  const isEnd = move.to === 'landed' || move.to === 'failed' || move.to === 'withdrawn';
  const row = await tx.db
    .updateTable('landing')
    .set({ ...move.set, state: move.to, reason: move.reason ?? null, ended_at: isEnd ? tx.now : null })
    .where('id', '=', landing.id)
    .where('state', 'in', statesBefore(landingMoves, move.to))
    .returningAll()
    .executeTakeFirst();
  if (!row) return landingState(landing, `cannot become ${move.to}`);
  await tx.emit({
    kind: move.kind,
    actor: move.actor,
    subject: { kind: 'landing', id: landing.id },
    facts: {
      pull_request_id: landing.pullRequestId,
      from: landing.state,
      head: row.expected_head,
      base: row.base_tip,
      candidate: row.candidate,
      accepted_by: row.accepted_by,
      reason: move.reason ?? null,
    },
  });
  tx.wake(landingsTopic, landing.id);
  return landingOf(row);
}

export function landingState(landing: Landing, what: string): Refused {
  return refuse(
    'wrong-state',
    'landing_state',
    `Landing ${landing.id} is ${landing.state}${landing.reason ? ` (${landing.reason})` : ''} and ${what}.`,
    {
      id: landing.id,
      state: landing.state,
    },
  );
}

/** Withdraws what is being built or waits for a yes; its decision goes away. Gives the number (0 or 1). */
export async function withdrawLandings(tx: Tx, pullRequestId: string, reason: string): Promise<number> {
  const open = await readOpenLanding(tx.db, pullRequestId);
  if (!open || (open.state !== 'building' && open.state !== 'offered')) return 0;
  await moveLanding(tx, open, { to: 'withdrawn', kind: 'landing.withdrawn', actor: systemActor('review'), reason });
  await voidDecisions(tx, { subjectId: open.id, kind: 'landing' }, reason);
  return 1;
}

/** Whether nobody had to help: no human in the change, no risk set by a human, accepted by a human as offered. */
export async function isCleanLanding(tx: Tx, pullRequest: PullRequest, acceptedBy: string): Promise<boolean> {
  const contributors = await readContributors(tx.db, pullRequest.id);
  return (
    acceptedBy !== 'land.auto' && contributors.every(({ kind }) => kind === 'agent') && pullRequest.riskByHuman === null
  );
}

/** Whether `land.auto` may be offered for a repository: its last 5 landings were clean and none was undone (design 6). */
export async function mayOfferAutoLanding(db: Kysely<Schema>, repositoryId: string): Promise<boolean> {
  const last = await db
    .selectFrom('landing')
    .leftJoin('landing_revert', (join) =>
      join.onRef('landing_revert.landing_id', '=', 'landing.id').on('landing_revert.state', '<>', 'abandoned'),
    )
    .select(['landing.is_clean as is_clean', 'landing_revert.id as revert_id'])
    .where('landing.repository_id', '=', repositoryId)
    .where('landing.state', '=', 'landed')
    .orderBy('landing.ended_at', 'desc')
    .orderBy('landing.id', 'desc')
    .limit(autoLandingAfter)
    .execute();
  return last.length === autoLandingAfter && last.every((row) => row.is_clean === 1 && row.revert_id === null);
}
