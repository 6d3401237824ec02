import { type Actor, newId, ok, type PullRequestId, refuse, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { type Contributor, type Family, type PullRequest, pullRequestsTopic } from './pull-request.ts';
import { addContributor, listPullRequests, readPullRequest } from './pull-request-store.ts';
import { linkRevert } from './request-revert.ts';

/** A change that is put up for review. */
export interface NewPullRequest {
  repositoryId: string;
  projectId?: string;
  taskId?: string;
  title: string;
  body: string;
  branch: string;
  baseRef: string;
  headSha: string;
  /** The merge base. */
  baseSha: string;
  patchId?: string;
  author: { agent: string; family: Family };
  /** Predecessors on the branch and others who pushed to it. */
  contributors?: readonly Contributor[];
  /** Change requests that agents may make before a human looks; default 3, 1 to 10. */
  maxRounds?: number;
  /** The label gate is off. */
  skipRiskAssessment?: boolean;
  /** Id of the landing that this undoes. */
  revertOf?: string;
  actor: Actor;
}

/** The rounds that agents have by default. */
export const defaultMaxRounds = 3;

/** Opens a pull request with the next number of its repository. Refuses `pull_request_open` when the branch has one already. */
export async function openPullRequest(tx: Tx, request: NewPullRequest): Promise<Result<PullRequest>> {
  const [open] = await listPullRequests(tx.db, {
    repositoryId: request.repositoryId,
    branch: request.branch,
    isOpen: true,
    limit: 1,
  });
  if (open) {
    return refuse(
      'duplicate',
      'pull_request_open',
      `Branch ${request.branch} already has pull request ${open.number}; give it the new head.`,
      {
        id: open.id,
        number: open.number,
      },
    );
  }
  const id = newId<PullRequestId>();
  const number = await nextNumber(tx, request.repositoryId);
  const { repositoryId, title, body, branch, baseRef, headSha, baseSha, author } = request;
  await tx.db
    .insertInto('pull_request')
    .values({
      id,
      repository_id: repositoryId,
      number,
      project_id: request.projectId ?? null,
      task_id: request.taskId ?? null,
      title,
      body,
      branch,
      base_ref: baseRef,
      author: author.agent,
      author_family: author.family,
      state: request.skipRiskAssessment ? 'awaiting_reviewer' : 'awaiting_risk',
      state_reason: 'opened',
      held_from: null,
      rounds: 0,
      max_rounds: request.maxRounds ?? defaultMaxRounds,
      head_sha: headSha,
      base_sha: baseSha,
      patch_id: request.patchId ?? null,
      risk: null,
      risk_reasons: '[]',
      risk_by_human: null,
      needs_human: 0,
      files: '[]',
      hitl_at: null,
      hitl_reviewers: '[]',
      revert_of: request.revertOf ?? null,
      created_at: tx.now,
      updated_at: tx.now,
      closed_at: null,
    })
    .execute();
  await recordHead(tx, id, {
    headSha,
    baseSha,
    pushedBy: author.agent,
    ...(request.patchId === undefined ? {} : { patchId: request.patchId }),
  });
  await addContributor(tx, id, { kind: 'agent', contributor: author.agent, family: author.family });
  for (const contributor of request.contributors ?? []) await addContributor(tx, id, contributor);
  if (request.revertOf !== undefined) await linkRevert(tx, request.revertOf, id, request.actor);
  await tx.emit({
    kind: 'pull-request.opened',
    actor: request.actor,
    subject: { kind: 'pull-request', id },
    ...(request.projectId === undefined ? {} : { projectId: request.projectId }),
    facts: {
      number,
      repository_id: repositoryId,
      task_id: request.taskId ?? null,
      head: headSha,
      base: baseSha,
      author: author.agent,
    },
  });
  tx.wake(pullRequestsTopic, id);
  return ok((await readPullRequest(tx.db, id)) as PullRequest);
}

/** Counts up the repository's number; two at once get two numbers on both databases. */
async function nextNumber(tx: Tx, repositoryId: string): Promise<number> {
  const row = await tx.db
    .insertInto('pull_request_counter')
    .values({ repository_id: repositoryId, next_number: 2 })
    .onConflict((conflict) =>
      conflict
        .column('repository_id')
        .doUpdateSet((eb) => ({ next_number: eb('pull_request_counter.next_number', '+', 1) })),
    )
    .returning('next_number')
    .executeTakeFirstOrThrow();
  return row.next_number - 1;
}

/** Appends a head to the history of a pull request. */
export async function recordHead(
  tx: Tx,
  pullRequestId: string,
  head: { headSha: string; baseSha: string; patchId?: string; pushedBy: string },
): Promise<void> {
  const last = await tx.db
    .selectFrom('pull_request_head')
    .select((eb) => eb.fn.max('ordinal').as('ordinal'))
    .where('pull_request_id', '=', pullRequestId)
    .executeTakeFirst();
  await tx.db
    .insertInto('pull_request_head')
    .values({
      pull_request_id: pullRequestId,
      ordinal: Number(last?.ordinal ?? 0) + 1,
      head_sha: head.headSha,
      base_sha: head.baseSha,
      patch_id: head.patchId ?? null,
      pushed_by: head.pushedBy,
      created_at: tx.now,
    })
    .execute();
}
