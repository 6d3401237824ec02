import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { makeVisible } from '../../gate/index.ts';
import type { DecisionRequestRow } from '../../store/index.ts';
import type { DecisionView } from '../../wire/index.ts';
import { listFeedback } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import type { FeedbackContent } from '../review/feedback-text.ts';
import { decisionView } from './views.ts';

/** The end of an agent's or a check's output that a human is shown, in characters. */
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
  const failures = sessions.map((session) => ({
    session: session.id,
    agent: session.agent,
    state: session.state,
    reason: session.reason,
    errors: makeVisible(
      session.reason === 'setup_failed'
        ? readSetupLog(ctx, session.folder_key ?? session.id)
        : readErrors(ctx, session.id, session.generation),
    ),
  }));
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

function readErrors(ctx: AppContext, sessionId: string, generation: number): string {
  const folder = join(ctx.paths.sessions, sessionId, String(generation));
  const parts = ['err.2', 'err.1', 'err.0'].map((name) => join(folder, name)).filter((file) => existsSync(file));
  return parts
    .map((file) => readFileSync(file, 'utf8'))
    .join('')
    .slice(-tail);
}

/** The end of what the last set-up command of a work folder said. */
function readSetupLog(ctx: AppContext, folderKey: string): string {
  const folder = join(ctx.forge.folders.logs, 'setup', folderKey);
  const steps = existsSync(folder) ? readdirSync(folder).map((name) => Number.parseInt(name, 10)) : [];
  const file = join(folder, `${Math.max(...steps)}.log`);
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-tail) : '';
}
