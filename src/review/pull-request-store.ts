import type { Kysely, Updateable } from 'kysely';

import { type Actor, refuse, type Refused, statesBefore } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import {
  type Contributor,
  contributorOf,
  openStates,
  type PullRequest,
  pullRequestMoves,
  pullRequestOf,
  type PullRequestState,
  pullRequestsTopic,
} from './pull-request.ts';

/** The pull request with this id, or `undefined`. */
export async function readPullRequest(db: Kysely<Schema>, id: string): Promise<PullRequest | undefined> {
  const row = await db.selectFrom('pull_request').selectAll().where('id', '=', id).executeTakeFirst();
  return row && pullRequestOf(row);
}

/** Pull requests, oldest first (P3 `scan`). `limit` default 100. */
export async function listPullRequests(
  db: Kysely<Schema>,
  filter: {
    repositoryId?: string;
    taskId?: string;
    branch?: string;
    states?: readonly PullRequestState[];
    isOpen?: boolean;
    limit?: number;
  } = {},
): Promise<PullRequest[]> {
  let query = db.selectFrom('pull_request').selectAll();
  if (filter.repositoryId !== undefined) query = query.where('repository_id', '=', filter.repositoryId);
  if (filter.taskId !== undefined) query = query.where('task_id', '=', filter.taskId);
  if (filter.branch !== undefined) query = query.where('branch', '=', filter.branch);
  if (filter.states !== undefined) query = query.where('state', 'in', [...filter.states]);
  if (filter.isOpen !== undefined) query = query.where('closed_at', filter.isOpen ? 'is' : 'is not', null);
  const rows = await query
    .orderBy('created_at')
    .orderBy('id')
    .limit(filter.limit ?? 100)
    .execute();
  return rows.map(pullRequestOf);
}

/** The open pull request of a task, or `undefined`; what holds its task while no session works on it (README 2.10). */
export async function openPullRequestOfTask(db: Kysely<Schema>, taskId: string): Promise<PullRequest | undefined> {
  const [found] = await listPullRequests(db, { taskId, states: openStates, limit: 1 });
  return found;
}

/** As `readPullRequest`, held until the transaction ends. */
export async function holdPullRequest(tx: Tx, id: string): Promise<PullRequest | undefined> {
  let query = tx.db.selectFrom('pull_request').selectAll().where('id', '=', id);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  return row && pullRequestOf(row);
}

/** Everybody who has a part in it (P1). */
export async function readContributors(db: Kysely<Schema>, pullRequestId: string): Promise<Contributor[]> {
  const rows = await db
    .selectFrom('pull_request_contributor')
    .selectAll()
    .where('pull_request_id', '=', pullRequestId)
    .orderBy('first_at')
    .orderBy('contributor')
    .execute();
  return rows.map(contributorOf);
}

export async function addContributor(tx: Tx, pullRequestId: string, contributor: Contributor): Promise<void> {
  await tx.db
    .insertInto('pull_request_contributor')
    .values({ pull_request_id: pullRequestId, ...contributor, first_at: tx.now })
    .onConflict((conflict) => conflict.columns(['pull_request_id', 'kind', 'contributor', 'family']).doNothing())
    .execute();
}

/** Moves a pull request by its table of moves, with its event; a move that is not listed is refused `pull_request_state`. */
export async function movePullRequest(
  tx: Tx,
  pullRequest: PullRequest,
  move: { to: PullRequestState; reason: string; actor: Actor; set?: Updateable<Schema['pull_request']> },
): Promise<PullRequest | Refused> {
  const isEnd = move.to === 'merged' || move.to === 'closed' || move.to === 'restarted';
  const row = await tx.db
    .updateTable('pull_request')
    .set({
      ...move.set,
      state: move.to,
      state_reason: move.reason,
      held_from: move.to === 'held' ? pullRequest.state : null,
      closed_at: isEnd ? tx.now : null,
      updated_at: tx.now,
    })
    .where('id', '=', pullRequest.id)
    .where('state', 'in', statesBefore(pullRequestMoves, move.to))
    .returningAll()
    .executeTakeFirst();
  if (!row) return wrongState(pullRequest, `cannot become ${move.to}`);
  await tx.emit({
    kind: 'pull-request.state-changed',
    actor: move.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    facts: {
      from: pullRequest.state,
      to: move.to,
      reason: move.reason,
      number: row.number,
      head: row.head_sha,
      rounds: row.rounds,
    },
  });
  tx.wake(pullRequestsTopic, pullRequest.id);
  return pullRequestOf(row);
}

/** As `movePullRequest`, where the state was just read under the lock and a refusal would be a bug. */
export async function mustMove(
  tx: Tx,
  pullRequest: PullRequest,
  move: Parameters<typeof movePullRequest>[2],
): Promise<PullRequest> {
  const moved = await movePullRequest(tx, pullRequest, move);
  if ('ok' in moved) throw new Error(moved.refusal.message);
  return moved;
}

export function unknownPullRequest(id: string): Refused {
  return refuse('not-found', 'unknown_pull_request', `unknown id ${id}`, { id });
}

export function wrongState(pullRequest: PullRequest, what: string): Refused {
  return refuse(
    'wrong-state',
    'pull_request_state',
    `Pull request ${pullRequest.number} is ${pullRequest.state} (${pullRequest.stateReason}) and ${what}.`,
    {
      id: pullRequest.id,
      number: pullRequest.number,
      state: pullRequest.state,
    },
  );
}
