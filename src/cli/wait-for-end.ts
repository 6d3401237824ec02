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
  };
  text: string;
  exitCode: number;
}

/** Decisions that say: nothing goes on until a human changes something. */
const endingKinds = ['nothing_delivered', 'attempts_exhausted', 'base_conflict'];

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
      `Waits for you: ${one.id} ${one.kind}: ${oneLine(one.title, 160)} (${one.verdicts.map((verb) => `chantier ${verb} ${one.id}`).join(' | ')})\n`,
    );
  }
  if (task.status === 'done') return landedEnd(context, run, task);
  const ending = open.find((one) => endingKinds.includes(one.kind));
  if (task.status === 'cancelled' || ending) {
    const text = ending ? oneLine(ending.title, 300) : `The task was cancelled.`;
    return { json: { outcome: 'not-landed', task, landing: null, decision: ending ?? null }, text, exitCode: 10 };
  }
  const text = `Still open: the task is ${task.status}${open[0] ? `, and waits for decision ${open[0].id}` : ''}.`;
  return { json: { outcome: 'still-open', task, landing: null, decision: open[0] ?? null }, text, exitCode: 11 };
}

async function openDecisions(context: CliContext, run: RunView): Promise<DecisionView[]> {
  const page = await context.get<Page<DecisionView>>('/api/decisions', { limit: 500 });
  return page.items.filter((one) => one.projectId === run.project.id);
}

async function landedEnd(context: CliContext, run: RunView, task: TaskView): Promise<RunEnd> {
  const pulls = await context.get<Page<PullRequestView>>('/api/pull-requests', {
    repository: run.repositoryId,
    limit: 500,
  });
  const id = pulls.items.find((one) => one.taskId === task.id && one.landingId !== null)?.landingId;
  if (!id) {
    return {
      json: { outcome: 'done', task, landing: null, decision: null },
      text: 'Done, without a landing.',
      exitCode: 0,
    };
  }
  const landing = await context.get<LandingView>(`/api/landings/${encodeURIComponent(id)}`);
  const commands = [landing.checkout?.command, ...landing.commands].filter((one) => one !== null && one !== undefined);
  const text = [
    `Landed${landing.commit === null ? '' : ` as ${landing.commit}`}. ${oneLine(landing.message, 300)}`,
    ...commands.map((one) => `  ${one}`),
  ].join('\n');
  return { json: { outcome: 'landed', task, landing, decision: null }, text, exitCode: 0 };
}
