import { type Repository, repositoryById } from '../../forge/index.ts';
import {
  feedbackTopic,
  landingsTopic,
  type PullRequest,
  pullRequestsTopic,
  readPullRequest,
} from '../../review/index.ts';
import { sessionsTopic } from '../../sessions/index.ts';
import {
  done,
  failed,
  gaveUp,
  lookAgainIn,
  type PassOutcome,
  type Reconciler,
  startReconciler,
} from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { settingsTopic } from '../instance/change-setting.ts';
import { haltTopic } from '../instance/halt.ts';
import { advanceLanding } from '../landing/advance-landing.ts';
import { assessChange } from './assess-change.ts';
import { deliverToAuthor } from './deliver-feedback.ts';
import { dispatchReviewer } from './dispatch-reviewer.ts';

/** The loop that brings each open pull request one step on (P1: reconcile → risk → scan → forward → land). */
export function startReviewCycle(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'pull-requests',
    list: () => listMovable(ctx),
    pass: (id) => advancePullRequest(ctx, id),
    everyMs: 10_000,
    wakeOn: [pullRequestsTopic],
    wakeAllOn: [feedbackTopic, landingsTopic, sessionsTopic, haltTopic, settingsTopic, 'agents'],
    onError: (error) => ctx.log.error({ err: error }, 'the review cycle could not look'),
    onPass: ({ id, outcome }) => {
      if (outcome.kind === 'failed')
        ctx.log.warn({ err: outcome.error, pullRequest: id }, 'a pull request could not be brought on');
    },
  });
}

/**
 * The pull requests on which the machine has something to do, oldest first. What waits for a human or for a reviewer's verdict
 * is woken by name when that comes, and an offered candidate when its base moved.
 */
export async function listMovable(ctx: Pick<AppContext, 'store'>): Promise<string[]> {
  const rows = await ctx.store.read
    .selectFrom('pull_request')
    .select('id')
    .where('state', 'in', ['awaiting_risk', 'awaiting_reviewer', 'changes_requested', 'approved', 'landing'])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('landing')
            .select('landing.id')
            .whereRef('landing.pull_request_id', '=', 'pull_request.id')
            .where('landing.state', '=', 'offered'),
        ),
      ),
    )
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
}

/** Reads the whole state of a pull request and does what comes next; one that fails never holds up the others (I6). */
export async function advancePullRequest(ctx: AppContext, id: string): Promise<PassOutcome> {
  const pullRequest = await readPullRequest(ctx.store.read, id);
  if (!pullRequest) return done;
  const repository = await repositoryById(ctx.store.read, pullRequest.repositoryId);
  if (!repository) return gaveUp(`there is no repository ${pullRequest.repositoryId}`);
  if (ctx.halt.isOn()) return lookAgainIn(60_000);
  return step(ctx, repository, pullRequest);
}

async function step(ctx: AppContext, repository: Repository, pullRequest: PullRequest): Promise<PassOutcome> {
  switch (pullRequest.state) {
    case 'awaiting_risk': {
      const assessed = await assessChange(ctx, repository, pullRequest);
      return assessed.ok ? lookAgainIn(0) : failed(new Error(assessed.refusal.message));
    }
    case 'awaiting_reviewer':
      return dispatchReviewer(ctx, repository, pullRequest);
    case 'changes_requested':
      return deliverToAuthor(ctx, repository, pullRequest);
    case 'approved':
    case 'landing':
      return advanceLanding(ctx, repository, pullRequest);
    default:
      return done; // reviewing: its session; hitl and held: a human; the rest has ended
  }
}
