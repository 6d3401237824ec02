import type { Command } from 'commander';

import {
  capText,
  type DependencyView,
  estimateText,
  type Page,
  spendingText,
  type TaskView,
} from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { failWith } from '../outcome.ts';
import { withKey, withProof } from '../options.ts';
import { oneLine, table, visible } from '../show.ts';

const taskName = 'Id, or <project>/<task>';
const pathOf = (task = ''): string => `/api/tasks/${encodeURIComponent(task)}`;

export function define(command: Command, context: CliContext): void {
  defineReading(command, context);
  defineAdd(command, context);
  defineChanges(command, context);
  defineDependencies(command, context);
}

function defineReading(command: Command, context: CliContext): void {
  const list = command
    .command('list', { isDefault: true })
    .description('List tasks')
    .option('--project <project>', 'Only those of this project')
    .option('--job <job>', 'Only those of this job')
    .option('--status <status>', 'todo, doing, done, paused or cancelled');
  context.action(list, async ({ options }) => {
    const { project, job, status } = options as Record<string, string | undefined>;
    const page = await context.get<Page<TaskView>>('/api/tasks', { project, job, status, limit: 500 });
    return { json: page, text: listOf(page.items) };
  });
  const ready = command
    .command('ready')
    .description('Tasks that could start now')
    .option('--limit <n>', 'At most so many', '50');
  context.action(ready, async ({ options }) => {
    const tasks = await context.get<TaskView[]>('/api/tasks/ready', { limit: String(options.limit) });
    return { json: tasks, text: listOf(tasks) };
  });
  const show = command.command('show').description('Show a task').argument('<task>', taskName);
  context.action(show, async ({ args: [name] }) => {
    const task = await context.get<TaskView>(pathOf(name));
    return { json: task, text: `${listOf([task])}\n${costOf(task)}\n\n${visible(task.description ?? '')}` };
  });
}

/** What it was expected to use, what it used, and its cap. */
function costOf({ spending, estimate, budget }: TaskView): string {
  const parts = [
    `used: ${spendingText(spending)}`,
    ...(estimate === null ? [] : [estimateText(estimate)]),
    ...(budget === null ? [] : [`cap: ${capText(budget)}`]),
  ];
  return parts.join(' · ');
}

function defineAdd(command: Command, context: CliContext): void {
  const add = command
    .command('add')
    .description('Add a task to a job')
    .argument('<job>', 'Id, or <project>/<job>')
    .argument('<title>', 'What is to be done, in one line')
    .option('--description <text>', 'All of it; - reads it from stdin')
    .option('--codename <codename>', 'Default: made from the title')
    .option('--assignee <agent>', 'Codename of the agent that shall do it')
    .option('--priority <priority>', 'P0 to P3')
    .option('--estimate <tokens>', 'Estimated tokens')
    .option('--budget <amount>', 'What it may use, reviews included: tokens (2M), money ($5), or both');
  withProof(add);
  context.action(add, async ({ args: [job = '', title], options }) => {
    const { codename, assignee, priority, estimate, description, budget } = options as Record<
      string,
      string | undefined
    >;
    const body = {
      title,
      ...(codename === undefined ? {} : { codename }),
      ...(budget === undefined ? {} : { budget }),
      ...(assignee === undefined ? {} : { assignee }),
      ...(priority === undefined ? {} : { priority }),
      ...(estimate === undefined ? {} : { tokenEstimate: Number(estimate) }),
      ...(description === undefined ? {} : { description: await context.textOf(description) }),
    };
    const path = `/api/jobs/${encodeURIComponent(job)}/tasks`;
    const task = await context.changeOrDecide<TaskView>('POST', path, body, options);
    return { json: task, text: `Added ${task.project}/${task.codename}.` };
  });
}

function defineChanges(command: Command, context: CliContext): void {
  const update = command
    .command('update')
    .description('Change a task')
    .argument('<task>', taskName)
    .option('--title <text>', 'New title')
    .option('--priority <priority>', 'P0 to P3')
    .option('--assignee <agent>', 'Codename of the agent; none for any')
    .option('--status <status>', 'todo, paused or cancelled')
    .option('--budget <amount>', 'What it may use; none for the default. More than now asks for the passphrase')
    .option('--reason <text>', 'Why');
  withProof(update);
  context.action(update, async ({ args: [name], options }) => {
    const { title, priority, assignee, status, reason, budget } = options as Record<string, string | undefined>;
    const body = {
      title,
      priority,
      status,
      reason,
      budget,
      ...(assignee === undefined ? {} : { assignee: assignee === 'none' ? null : assignee }),
    };
    if (Object.values(body).every((value) => value === undefined))
      throw failWith('invalid', 'usage', 'Say what to change; see --help.');
    const task = await context.changeOrDecide<TaskView>('PATCH', pathOf(name), body, options);
    return { json: task, text: listOf([task]) };
  });
  for (const [verb, method, what] of [
    ['complete', 'PUT', 'Complete a task without landing'],
    ['reopen', 'DELETE', 'Reopen a finished task'],
  ] as const) {
    const act = command
      .command(verb)
      .description(what)
      .argument('<task>', taskName)
      .requiredOption('--reason <text>', 'Why');
    withProof(act);
    context.action(act, async ({ args: [name], options }) => {
      const task = await context.decide<TaskView>(
        method,
        `${pathOf(name)}/closure`,
        { reason: options.reason },
        options,
      );
      return { json: task, text: listOf([task]) };
    });
  }
}

function defineDependencies(command: Command, context: CliContext): void {
  const dep = command
    .command('dep')
    .description('Let a task wait for another one of its job')
    .argument('<blocked>', taskName)
    .argument('<blocker>', taskName)
    .option('--remove', 'Let it wait no longer');
  withKey(dep);
  context.action(dep, async ({ args: [blocked, blocker = ''], options }) => {
    const path = `${pathOf(blocked)}/blockers/${encodeURIComponent(blocker)}`;
    if (options.remove) {
      const done = await context.change<{ removed: boolean }>('DELETE', path, {}, options);
      return { json: done, text: done.removed ? 'Removed.' : 'There was no such dependency.' };
    }
    const edge = await context.change<DependencyView>('PUT', path, {}, options);
    return { json: edge, text: `${blocked} waits for ${blocker}.` };
  });
}

function listOf(tasks: readonly TaskView[]): string {
  if (tasks.length === 0) return 'No task.';
  const rows = tasks.map((one) => [
    `${one.project}/${one.codename}`,
    one.status + (one.isReady ? ' (ready)' : ''),
    one.priority,
    one.assignee,
    one.pullRequest === null ? null : `#${one.pullRequest}`,
    oneLine(one.title, 60),
  ]);
  return table(['TASK', 'STATUS', 'PRIO', 'AGENT', 'PR', 'TITLE'], rows);
}
