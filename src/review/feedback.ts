import type { Kysely } from 'kysely';

import { type Actor, canonicalJson, type Id, type Json, newId, ok, refuse, type Result } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import type { PullRequest } from './pull-request.ts';
import type { FeedbackRow } from './rows.ts';

export type FeedbackId = Id<'feedback'>;

/** Woken with the feedback's id whenever something waits for an author. */
export const feedbackTopic = 'feedback';

/** Something that has to reach the author of a pull request, once (R-15, decision 2). */
export interface Feedback {
  id: FeedbackId;
  pullRequestId: string;
  key: string;
  source: FeedbackRow['source'];
  headSha: string;
  content: Json;
  state: FeedbackRow['state'];
  createdAt: number;
  deliveredAt: number | null;
  sessionId: string | null;
}

function feedbackOf(row: FeedbackRow): Feedback {
  return {
    id: row.id as FeedbackId,
    pullRequestId: row.pull_request_id,
    key: row.key,
    source: row.source,
    headSha: row.head_sha,
    content: JSON.parse(row.content) as Json,
    state: row.state,
    createdAt: row.created_at,
    deliveredAt: row.delivered_at,
    sessionId: row.session_id,
  };
}

/** Feedback, oldest first; left out `pullRequestId` = of all. */
export async function listFeedback(
  db: Kysely<Schema>,
  filter: { pullRequestId?: string; state?: Feedback['state'] } = {},
): Promise<Feedback[]> {
  let query = db.selectFrom('feedback').selectAll();
  if (filter.pullRequestId !== undefined) query = query.where('pull_request_id', '=', filter.pullRequestId);
  if (filter.state !== undefined) query = query.where('state', '=', filter.state);
  return (await query.orderBy('created_at').orderBy('id').execute()).map(feedbackOf);
}

/** Queues feedback for the author; the same key again changes nothing. `key` names source and id, the head is added. */
export async function queueFeedback(
  tx: Tx,
  pullRequest: PullRequest,
  feedback: { source: Feedback['source']; id: string; content: Json; actor: Actor },
): Promise<void> {
  const id = newId<FeedbackId>();
  const inserted = await tx.db
    .insertInto('feedback')
    .values({
      id,
      pull_request_id: pullRequest.id,
      key: `${feedback.source}:${feedback.id}:${pullRequest.headSha}`,
      source: feedback.source,
      head_sha: pullRequest.headSha,
      content: canonicalJson(feedback.content),
      state: 'pending',
      created_at: tx.now,
      delivered_at: null,
      session_id: null,
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) return;
  await tx.emit({
    kind: 'feedback.queued',
    actor: feedback.actor,
    subject: { kind: 'pull-request', id: pullRequest.id },
    facts: { feedback_id: id, source: feedback.source, head: pullRequest.headSha },
  });
  tx.wake(feedbackTopic, id);
}

/** Marks feedback as handed to a session; once. Refuses `feedback_closed` when it was delivered or the head moved on. */
export async function deliverFeedback(
  tx: Tx,
  delivery: { feedbackId: string; sessionId: string; actor: Actor },
): Promise<Result<Feedback>> {
  const row = await tx.db
    .updateTable('feedback')
    .set({ state: 'delivered', delivered_at: tx.now, session_id: delivery.sessionId })
    .where('id', '=', delivery.feedbackId)
    .where('state', '=', 'pending')
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    return refuse(
      'wrong-state',
      'feedback_closed',
      `Feedback ${delivery.feedbackId} is unknown, was delivered, or the head moved on.`,
      {
        id: delivery.feedbackId,
      },
    );
  }
  await tx.emit({
    kind: 'feedback.delivered',
    actor: delivery.actor,
    subject: { kind: 'pull-request', id: row.pull_request_id },
    sessionId: delivery.sessionId,
    facts: { feedback_id: row.id, source: row.source, head: row.head_sha },
  });
  return ok(feedbackOf(row));
}

/** Drops what has not reached the author and no longer matters. */
export async function supersedeFeedback(tx: Tx, pullRequestId: string): Promise<void> {
  await tx.db
    .updateTable('feedback')
    .set({ state: 'superseded' })
    .where('pull_request_id', '=', pullRequestId)
    .where('state', '=', 'pending')
    .execute();
}
