import type { Command } from 'commander';

import {
  capText,
  type CreatedProject,
  type Page,
  type ProjectDetail,
  type ProjectView,
  spendingText,
} from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { readJsonArgument } from '../read-json.ts';
import { counted, oneLine, table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  const list = command
    .command('list', { isDefault: true })
    .description('List projects')
    .option('--status <status>', 'Only those in this status');
  context.action(list, async ({ options }) => {
    const page = await context.get<Page<ProjectView>>('/api/projects', {
      status: options.status as string | undefined,
      limit: 500,
    });
    const rows = page.items.map((one) => [
      one.codename,
      one.status,
      one.priority,
      `${one.taskCounts.done}/${Object.values(one.taskCounts).reduce((sum, count) => sum + count, 0)}`,
      oneLine(one.title, 70),
    ]);
    return {
      json: page,
      text: rows.length === 0 ? 'No project yet.' : table(['CODENAME', 'STATUS', 'PRIO', 'DONE', 'TITLE'], rows),
    };
  });
  const show = command
    .command('show')
    .description('Show a project with its jobs and tasks')
    .argument('<project>', 'Codename or id');
  context.action(show, async ({ args: [name = ''] }) => {
    const project = await context.get<ProjectDetail>(`/api/projects/${encodeURIComponent(name)}`);
    return { json: project, text: textOf(project) };
  });
  const create = command
    .command('create')
    .description('Create a project with its first job and tasks, from JSON (L-31)')
    .option('-f, --file <file>', 'File with the JSON; - or none reads stdin', '-')
    .option('--budget <amount>', 'What it may use, reviews included: tokens (20M), money ($50), or both')
    .option('--dry-run', 'Judge and print, insert nothing');
  withProof(create);
  context.action(create, async ({ options }) => {
    const given = await readJsonArgument(String(options.file), context.io);
    const body = {
      ...given,
      ...(options.budget === undefined ? {} : { budget: options.budget }),
      ...(options.dryRun ? { dryRun: true } : {}),
    };
    const created = await context.changeOrDecide<CreatedProject>('POST', '/api/projects', body, options);
    const lines = [
      `${created.dryRun ? 'Would create' : 'Created'} ${created.codenames.project}: job ${created.codenames.job}, ${counted(created.codenames.tasks.length, 'task')}.`,
      ...created.warnings.map((warning) => `warning: ${oneLine(warning, 200)}`),
    ];
    return { json: created, text: lines.join('\n') };
  });
}

function textOf(project: ProjectDetail): string {
  const lines = [
    `${project.codename} · ${project.status} · ${project.priority} · ${oneLine(project.title)}`,
    `used: ${spendingText(project.spending)}${project.budget === null ? '' : ` · cap: ${capText(project.budget)}`}`,
  ];
  for (const job of project.jobs) {
    lines.push(`  ${job.codename} · ${job.status} · ${oneLine(job.title)}`);
    for (const task of project.tasks.filter((one) => one.jobId === job.id)) {
      lines.push(`    ${task.codename} · ${task.status}${task.isReady ? ' (ready)' : ''} · ${oneLine(task.title)}`);
    }
  }
  return lines.join('\n');
}
