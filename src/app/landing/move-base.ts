import { ok, type Result, systemActor } from '../../kernel/index.ts';
import {
  type Candidate,
  dropCandidate,
  landCandidate,
  prepareBaseMove,
  publishReviewedBranch,
  type Repository,
  settleBaseMove,
  verifyLanding,
} from '../../forge/index.ts';
import { completeTask } from '../../ledger/index.ts';
import {
  finishLanding,
  type Landing,
  type LandingFailure,
  type LandingOutcome,
  maxUnknownReads,
  type PullRequest,
  recordAftermath,
} from '../../review/index.ts';
import { done, enqueueEffect, failed, lookAgainIn, type PassOutcome, type Tx } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { humansOf } from '../review/submit-review.ts';
import { afterLandingEffect } from './after-landing.ts';
import { reopenReverted } from './reopen-reverted.ts';
import { freezeBase } from './freeze-base.ts';

const actor = systemActor('landing');

/**
 * Moves the base to an accepted candidate by compare-and-set and closes the task, in the order that a crash cannot hurt: the
 * move is written down first, and afterwards ancestry of the candidate decides (review decision 5). In mode `branch` the
 * reviewed change becomes a branch for the operator to push.
 */
export async function moveBase(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
): Promise<PassOutcome> {
  const candidate = candidateOf(landing);
  return landing.mode === 'base'
    ? landOnBase(ctx, repository, pullRequest, landing, candidate)
    : endAsBranch(ctx, repository, pullRequest, landing, candidate);
}

async function landOnBase(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
  candidate: Candidate,
): Promise<PassOutcome> {
  const move = await ctx.store.tx((tx) =>
    prepareBaseMove(tx, {
      repositoryId: repository.id,
      kind: pullRequest.revertOf === null ? 'landing' : 'revert',
      landingId: landing.id,
      from: candidate.baseTip,
      to: candidate.commit,
      actor,
    }),
  );
  const landed = await landCandidate(ctx.forge, repository, candidate, pullRequest.branch);
  if (!landed.ok) {
    const reason: LandingFailure = landed.refusal.code === 'head_moved' ? 'head_moved' : 'base_moved';
    return finish(
      ctx,
      repository,
      pullRequest,
      landing,
      { kind: 'failed', reason },
      async (tx) => void (await settleBaseMove(tx, { id: move.id, state: 'lost', actor })),
    );
  }
  const seen = await verifyLanding(ctx.forge, repository, candidate);
  if (!seen.isLanded) return finish(ctx, repository, pullRequest, landing, { kind: 'unknown' });
  return finish(ctx, repository, pullRequest, landing, { kind: 'landed', commit: landed.value.commit }, async (tx) => {
    await settleBaseMove(tx, { id: move.id, state: 'done', actor });
    if (!seen.treeMatches) await freezeBase(tx, repository, landing);
  });
}

async function endAsBranch(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
  candidate: Candidate,
): Promise<PassOutcome> {
  const branch = `chantier/reviewed/${pullRequest.number}`;
  const published = await publishReviewedBranch(ctx.forge, repository, candidate, branch);
  if (!published.ok)
    return finish(ctx, repository, pullRequest, landing, {
      kind: 'failed',
      reason: 'refused',
      detail: { summary: published.refusal.message },
    });
  const { commit, commands } = published.value;
  return finish(ctx, repository, pullRequest, landing, { kind: 'landed', commit }, (tx) =>
    recordAftermath(tx, landing.id, { branch, commands, checkout: null }),
  );
}

/** Records the outcome; a landed change closes its task in the same transaction, and what follows outside is enqueued. */
async function finish(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  landing: Landing,
  outcome: LandingOutcome,
  more: (tx: Tx) => Promise<void> = async () => {},
): Promise<PassOutcome> {
  const humans = await humansOf(ctx, repository.config.review?.humans);
  const finished = await ctx.store.tx(async (tx): Promise<Result<undefined>> => {
    const ended = await finishLanding(tx, { landingId: landing.id, outcome, humans, actor });
    if (!ended.ok) return ended;
    await more(tx);
    if (outcome.kind !== 'landed') return ok(undefined);
    if (pullRequest.taskId) {
      const completed = await completeTask(tx, {
        taskId: pullRequest.taskId,
        by: { kind: 'landing', landingId: landing.id },
        actor,
      });
      // The base has moved, and nothing takes that back: a task that ended meanwhile does not hold up the landing's record.
      if (!completed.ok)
        ctx.log.warn({ landing: landing.id, code: completed.refusal.code }, 'landed after its task ended');
    }
    const reopened = await reopenReverted(tx, pullRequest, actor);
    if (!reopened.ok)
      ctx.log.warn({ landing: landing.id, code: reopened.refusal.code }, 'what was reverted could not be reopened');
    await enqueueEffect(tx, {
      key: `after-landing:${landing.id}`,
      kind: afterLandingEffect,
      payload: { landingId: landing.id, commit: outcome.commit },
    });
    return ok(undefined);
  });
  if (!finished.ok) return failed(new Error(finished.refusal.message));
  if (outcome.kind === 'landed') {
    await dropCandidate(ctx.forge, repository, landing.id);
    return done;
  }
  if (outcome.kind !== 'unknown') return lookAgainIn(0);
  // After the last quick look a human was asked, or, where none is configured, it is looked at now and then.
  return lookAgainIn(landing.unknownReads + 1 < maxUnknownReads ? 1_000 : 60_000);
}

function candidateOf(landing: Landing): Candidate {
  const { candidate, tree, baseTip } = landing;
  if (candidate === null || tree === null || baseTip === null)
    throw new Error(`landing ${landing.id} was accepted without a candidate`);
  return {
    landingId: landing.id,
    commit: candidate,
    tree,
    baseTip,
    head: landing.expectedHead,
    method: landing.method === 'merge' ? 'merge' : 'squash',
  };
}
