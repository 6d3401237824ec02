import type { Command } from 'commander';

import type { SettledView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('<id>', 'Id of the decision, or of the capability it is about').option('--note <text>', 'Why');
  withProof(command);
  context.action(command, async ({ args: [id = ''], options }) => {
    const body = {
      verdict: 'refuse',
      ...(options.note === undefined ? {} : { note: options.note }),
    };
    const path = `/api/decisions/${encodeURIComponent(id)}/verdict`;
    const settled = await context.decide<SettledView>('PUT', path, body, options);
    return { json: settled, text: settled.message };
  });
}
