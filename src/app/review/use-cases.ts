import { ok, refuse, type Result } from '../../kernel/index.ts';
import { type Repository, repositoryById } from '../../forge/index.ts';
import {
  landingBlockers,
  type PullRequest,
  readLanding,
  readLandingFacts,
  readOpenLanding,
  readPullRequest,
} from '../../review/index.ts';
import { requireProof } from '../access/index.ts';
import type { ReviewUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';
import { rulesOf } from '../landing/advance-landing.ts';
import { acceptAndWait } from '../landing/settle-landing.ts';
import { findRepository } from '../repositories/register-repository.ts';
import { pageOfLandings, pageOfPullRequests } from './list-pages.ts';
import { openRevert } from './open-revert.ts';
import { requireSeenHead, requireShownWhole } from './require-seen.ts';
import { actAsHuman } from './settle-human-review.ts';
import { diffView, domainStatesOf, landingView, pullRequestView } from './views.ts';

/** Pull requests, their diffs, humans' acts, landings (design sections 6 and 8). */
export function reviewUseCases(ctx: AppContext): ReviewUseCases {
  const db = ctx.store.read;
  return {
    async listPullRequests(_caller, query) {
      const repository = query.repository === undefined ? undefined : await findRepository(ctx, query.repository);
      if (repository && !repository.ok) return repository;
      const filter = {
        ...(repository ? { repositoryId: repository.value.id } : {}),
        ...(query.state === undefined ? {} : { states: domainStatesOf(query.state) }),
        ...(query.open === true ? { isOpen: true } : {}),
      };
      const page = await pageOfPullRequests(ctx, filter, query);
      const items = await Promise.all(page.items.map((pullRequest) => pullRequestView(ctx, pullRequest)));
      return ok({ items, nextCursor: page.nextCursor });
    },
    async showPullRequest(_caller, name) {
      const found = await findPullRequest(ctx, name);
      return found.ok ? ok(await pullRequestView(ctx, found.value)) : found;
    },
    async diff(_caller, name) {
      const found = await withRepository(ctx, name);
      return found.ok ? ok(await diffView(ctx, found.value.repository, found.value.pullRequest)) : found;
    },
    async humanAct(caller, name, act) {
      const proof = requireProof(caller, 'decide');
      if (!proof.ok) return proof;
      const found = await withRepository(ctx, name);
      if (!found.ok) return found;
      const { pullRequest, repository } = found.value;
      const { head, isSeenWhole = false, ...wish } = act;
      if (act.act === 'approve') {
        const seen = requireSeenHead(pullRequest, head);
        if (!seen.ok) return seen;
        const shown = await requireShownWhole(ctx, repository, pullRequest, isSeenWhole);
        if (!shown.ok) return shown;
      }
      const done = await actAsHuman(ctx, caller, pullRequest.id, wish, pullRequest.headSha);
      return done.ok ? this.showPullRequest(caller, pullRequest.id) : done;
    },
    async land(caller, name, request) {
      const proof = requireProof(caller, 'decide');
      if (!proof.ok) return proof;
      const found = await withRepository(ctx, name);
      if (!found.ok) return found;
      const { pullRequest, repository } = found.value;
      const seen = requireSeenHead(pullRequest, request.head);
      if (!seen.ok) return seen;
      const landing = await readOpenLanding(db, pullRequest.id);
      if (!landing || landing.state !== 'offered' || landing.candidate === null || landing.baseTip === null) {
        return refuse('not-landed', 'not_offered', await whyNot(ctx, repository, pullRequest), {
          state: pullRequest.state,
        });
      }
      const shown = await requireShownWhole(ctx, repository, pullRequest, request.isSeenWhole === true);
      if (!shown.ok) return shown;
      const landed = await acceptAndWait(ctx, caller, {
        landingId: landing.id,
        candidate: landing.candidate,
        baseTip: landing.baseTip,
        headSha: pullRequest.headSha,
      });
      return landed.ok ? ok(await landingView(ctx, landed.value)) : landed;
    },
    async showLanding(_caller, id) {
      const landing = await readLanding(db, id);
      return landing
        ? ok(await landingView(ctx, landing))
        : refuse('not-found', 'unknown_landing', `There is no landing ${id}.`, { id });
    },
    async listLandings(_caller, query) {
      const page = await pageOfLandings(ctx, query);
      const items = await Promise.all(page.items.map((landing) => landingView(ctx, landing)));
      return ok({ items, nextCursor: page.nextCursor });
    },
    async revert(caller, landingId, request) {
      const proof = requireProof(caller, 'decide');
      if (!proof.ok) return proof;
      const opened = await openRevert(ctx, caller, landingId, request.reason);
      return opened.ok ? this.showPullRequest(caller, opened.value.id) : opened;
    },
  };
}

/** A pull request by id, or by number where only one repository has that number. */
async function findPullRequest(ctx: AppContext, name: string): Promise<Result<PullRequest>> {
  const byId = await readPullRequest(ctx.store.read, name);
  if (byId) return ok(byId);
  const number = /^#?(\d{1,9})$/.exec(name)?.[1];
  const matches =
    number === undefined
      ? []
      : await ctx.store.read
          .selectFrom('pull_request')
          .innerJoin('repository', 'repository.id', 'pull_request.repository_id')
          .select(['pull_request.id', 'repository.name'])
          .where('pull_request.number', '=', Number(number))
          .orderBy('pull_request.created_at')
          .limit(20)
          .execute();
  if (matches.length > 1) {
    const ways = matches.map((one) => `${one.id} (${one.name})`).join(', ');
    return refuse(
      'invalid',
      'ambiguous_number',
      `${matches.length} repositories have a pull request ${number}; use its id: ${ways}.`,
      { ids: matches.map((one) => one.id) },
    );
  }
  const found = matches[0] && (await readPullRequest(ctx.store.read, matches[0].id));
  return found
    ? ok(found)
    : refuse(
        'not-found',
        'unknown_pull_request',
        `There is no pull request ${name}. \`chantier pr list\` names them.`,
        { name },
      );
}

async function withRepository(
  ctx: AppContext,
  name: string,
): Promise<Result<{ pullRequest: PullRequest; repository: Repository }>> {
  const found = await findPullRequest(ctx, name);
  if (!found.ok) return found;
  const repository = await repositoryById(ctx.store.read, found.value.repositoryId);
  return repository
    ? ok({ pullRequest: found.value, repository })
    : refuse('not-found', 'repository_not_found', `There is no repository ${found.value.repositoryId}.`);
}

async function whyNot(ctx: AppContext, repository: Repository, pullRequest: PullRequest): Promise<string> {
  if (pullRequest.state === 'merged') return `Pull request ${pullRequest.number} has landed already.`;
  const facts = await readLandingFacts(ctx.store.read, pullRequest, await rulesOf(ctx, repository));
  const blocker = landingBlockers(facts)[0];
  const view = await pullRequestView(ctx, pullRequest);
  return `Pull request ${pullRequest.number} does not land yet: it waits for ${view.waitsFor ?? blocker?.message ?? 'its candidate'}.`;
}
