import type { Command } from 'commander';

import type { PullRequestView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('<landing>', 'Id of the landing').requiredOption('--reason <text>', 'Why');
  withProof(command);
  context.action(command, async ({ args: [landing = ''], options }) => {
    const path = `/api/landings/${encodeURIComponent(landing)}/reverts`;
    const opened = await context.decide<PullRequestView>('POST', path, { reason: options.reason }, options);
    return { json: opened, text: `Opened #${opened.number} as a reviewed revert; its task is open again.` };
  });
}
