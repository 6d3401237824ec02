import { setTimeout as sleep } from 'node:timers/promises';

import type { DecisionView, LandingView, Page, PullRequestView, RunView, TaskView } from '../wire/index.ts';
import type { CliContext } from './context.ts';
import { readEventStream } from './event-stream.ts';
import { oneLine } from './show.ts';

/** What became of a run: its last state, a sentence, and the exit code (0 landed or done, 10 not, 11 still open). */
export interface RunEnd {
  json: {
    outcome: 'landed' | 'done' | 'not-landed' | 'still-open';
    task: TaskView;
    landing: LandingView | null;
    decision: DecisionView | null;
    /** What happened, or why nothing landed, in a sentence. */
    message: string;
  };
  text: string;
  exitCode: number;
}

/** Decisions that say: nothing goes on until a human changes something. */
const endingKinds = ['nothing_delivered', 'attempts_exhausted', 'base_conflict'];

/** Reasons of a human review that say: the agents could not bring it to an end. */
const endingReasons = [
  'author_lost',
  'author_disagrees',
  'rounds_used_up',
  'reviewers_failed',
  'checks_undefined',
  'code_owners',
  'landing_refused',
  'landing_error',
  'landing_unknown',
];

/** How long a landed base may take until the checkout has followed or is left as it is. */
const followedWithinMs = 30_000;

/** Waits until the task of a run has landed or ended, at most `timeoutMs`; open decisions are named on stderr as they come. */
export async function waitForEnd(context: CliContext, run: RunView, timeoutMs: number): Promise<RunEnd> {
  const announced = new Set<string>();
  const over = AbortSignal.any([AbortSignal.timeout(timeoutMs), context.io.signal]);
  let end = await look(context, run, announced);
  if (end.exitCode !== 11) return end;
  // Each event is a reason to look again; the looking itself reads the state.
  for await (const event of readEventStream(context.client(), {}, over)) {
    if (!/^(task|job|project|session|pull-request|landing|decision|base)\b/.test(event.kind)) continue;
    end = await look(context, run, announced);
    if (end.exitCode !== 11) return end;
  }
  return look(context, run, announced);
}

async function look(context: CliContext, run: RunView, announced: Set<string>): Promise<RunEnd> {
  const task = await context.get<TaskView>(`/api/tasks/${encodeURIComponent(run.task.id)}`);
  const open = await openDecisions(context, run);
  for (const one of open) {
    if (announced.has(one.id)) continue;
    announced.add(one.id);
    context.io.err(
      `Waits for you: ${one.id} ${one.kind}: ${oneLine(one.title, 160)} (${one.verdicts.map((verb) => `chantier ${verb} ${one.id}${verb === 'respond' ? ' "…"' : ''}`).join(' | ')})\n`,
    );
  }
  if (task.status === 'done') return landedEnd(context, run, task);
  const why = await whyEnded(context, run, task, open);
  if (why) {
    const json = { outcome: 'not-landed' as const, task, landing: null, decision: why.decision, message: why.text };
    return { json, text: why.text, exitCode: 10 };
  }
  const text = `Still open: the task is ${task.status}${open[0] ? `, and waits for decision ${open[0].id}` : ''}.`;
  const json = { outcome: 'still-open' as const, task, landing: null, decision: open[0] ?? null, message: text };
  return { json, text, exitCode: 11 };
}

/** Why it does not go on without a change by a human; nothing while it does. */
async function whyEnded(
  context: CliContext,
  run: RunView,
  task: TaskView,
  open: readonly DecisionView[],
): Promise<{ text: string; decision: DecisionView | null } | undefined> {
  if (task.status === 'cancelled') return { text: 'The task was cancelled.', decision: null };
  const ending = open.find(
    (one) =>
      endingKinds.includes(one.kind) || (one.kind === 'human_review' && endingReasons.includes(reasonOf(one) ?? '')),
  );
  if (ending) return { text: `Not landed. ${oneLine(ending.title, 300)}${lastWords(ending)}`, decision: ending };
  const pull = await pullRequestOf(context, run, task);
  const isGivenUp = pull?.state === 'closed' || (pull?.state === 'human-review' && pull.decisionId === null);
  if (!pull || !isGivenUp) return undefined;
  return {
    text: `Not landed. Pull request ${pull.number} waits for ${oneLine(pull.waitsFor ?? 'nobody', 200)}.`,
    decision: null,
  };
}

function reasonOf(decision: DecisionView): string | undefined {
  return (decision.detail as { reason?: string } | null)?.reason;
}

/** What failed last, as far as the decision tells. */
function lastWords(decision: DecisionView): string {
  type Words = { summary?: string } | null;
  const { reason, about, last } = (decision.detail ?? {}) as { reason?: string; about?: Words; last?: Words };
  const words = [reason?.replaceAll('_', ' '), about?.summary, last?.summary].filter(
    (one) => one !== undefined && one !== '',
  );
  return words.length > 0 ? ` (${oneLine(words.join('; '), 400)})` : '';
}

async function pullRequestOf(context: CliContext, run: RunView, task: TaskView): Promise<PullRequestView | undefined> {
  const query = { repository: run.repositoryId, limit: 500 };
  const pulls = await context.get<Page<PullRequestView>>('/api/pull-requests', query);
  return pulls.items.filter((one) => one.taskId === task.id).at(-1);
}

async function openDecisions(context: CliContext, run: RunView): Promise<DecisionView[]> {
  const page = await context.get<Page<DecisionView>>('/api/decisions', { limit: 500 });
  return page.items.filter((one) => one.projectId === run.project.id);
}

async function landedEnd(context: CliContext, run: RunView, task: TaskView): Promise<RunEnd> {
  const id = (await pullRequestOf(context, run, task))?.landingId;
  if (!id) {
    const message = 'Done, without a landing.';
    return { json: { outcome: 'done', task, landing: null, decision: null, message }, text: message, exitCode: 0 };
  }
  const landing = await followedLanding(context, id);
  const commands = [landing.checkout?.command, ...landing.commands].filter((one) => one !== null && one !== undefined);
  const text = [
    `Landed${landing.commit === null ? '' : ` as ${landing.commit}`}. ${oneLine(landing.message, 300)}`,
    ...commands.map((one) => `  ${one}`),
  ].join('\n');
  return { json: { outcome: 'landed', task, landing, decision: null, message: text }, text, exitCode: 0 };
}

/** The landing with what became of the operator's own checkout, which follows a moment after the base. */
async function followedLanding(context: CliContext, id: string): Promise<LandingView> {
  const giveUpAt = performance.now() + followedWithinMs;
  for (;;) {
    const landing = await context.get<LandingView>(`/api/landings/${encodeURIComponent(id)}`);
    if (landing.mode !== 'base' || landing.checkout !== null || performance.now() > giveUpAt) return landing;
    await sleep(100, undefined, { signal: context.io.signal }).catch(() => {});
  }
}
