import type { Command } from 'commander';

import type { JobView, Page } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';
import { readJsonArgument } from '../read-json.ts';
import { oneLine, table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  const list = command
    .command('list', { isDefault: true })
    .description('List jobs')
    .option('--project <project>', 'Only those of this project');
  context.action(list, async ({ options }) => {
    const page = await context.get<Page<JobView>>('/api/jobs', {
      project: options.project as string | undefined,
      limit: 500,
    });
    const rows = page.items.map((one) => [
      `${one.project}/${one.codename}`,
      one.kind,
      one.status,
      one.priority,
      oneLine(one.title, 70),
    ]);
    return {
      json: page,
      text: rows.length === 0 ? 'No job yet.' : table(['JOB', 'KIND', 'STATUS', 'PRIO', 'TITLE'], rows),
    };
  });
  const add = command
    .command('add')
    .description('Add a job with its tasks to a project, from JSON')
    .argument('<project>', 'Codename or id of the project')
    .option('-f, --file <file>', 'File with the JSON; - or none reads stdin', '-');
  withKey(add);
  context.action(add, async ({ args: [project], options }) => {
    const body = { ...(await readJsonArgument(String(options.file), context.io)), project };
    const job = await context.change<JobView>('POST', '/api/jobs', body, options);
    return { json: job, text: `Added ${job.project}/${job.codename}.` };
  });
}
