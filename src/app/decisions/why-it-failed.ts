import { makeVisible } from '../../gate/index.ts';
import type { DecisionRequestRow } from '../../store/index.ts';
import type { DecisionView } from '../../wire/index.ts';
import { listFeedback } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import type { FeedbackContent } from '../review/feedback-text.ts';
import { readFailure } from '../sessions/read-failure.ts';
import { decisionView } from './views.ts';

/** The end of a check's output that a human is shown, in characters. */
const tail = 2_000;

/** A decision with what its subject's last sessions failed of, where that is the question. */
export async function fullDecisionView(ctx: AppContext, row: DecisionRequestRow): Promise<DecisionView> {
  const view = decisionView(row);
  if (row.kind === 'human_review') return withLastFeedback(ctx, view);
  if (row.kind !== 'attempts_exhausted') return view;
  const sessions = await ctx.store.read
    .selectFrom('session')
    .select(['id', 'generation', 'agent', 'state', 'reason', 'folder_key'])
    .where('task_id', '=', row.subject_id)
    .where('ended_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .limit(3)
    .execute();
  const failures = await Promise.all(
    sessions.map(async (session) => {
      const failure = await readFailure(ctx, session);
      return {
        session: session.id,
        agent: session.agent,
        state: session.state,
        reason: session.reason,
        exitCode: failure?.exitCode ?? null,
        signal: failure?.signal ?? null,
        errors: failure?.errors ?? '',
      };
    }),
  );
  return { ...view, detail: { ...(view.detail as object), failures } as never };
}

/** A pull request before humans, with what its author was told last: the findings, or the red checks and their output. */
async function withLastFeedback(ctx: AppContext, view: DecisionView): Promise<DecisionView> {
  if (view.subject.kind !== 'pull-request') return view;
  const feedback = (await listFeedback(ctx.store.read, { pullRequestId: view.subject.id })).at(-1);
  if (!feedback) return view;
  const { summary, log, findings } = (feedback.content ?? {}) as unknown as FeedbackContent;
  const last = {
    source: feedback.source,
    summary: makeVisible(summary ?? ''),
    log: log === undefined ? null : makeVisible(log.slice(-tail)),
    findings: (findings ?? []).map(({ file, line, text }) => ({
      file: file ?? null,
      line: line ?? null,
      text: makeVisible(text ?? ''),
    })),
  };
  return { ...view, detail: { ...(view.detail as object), last } as never };
}
