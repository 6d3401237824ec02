import type { Command } from 'commander';

import type { RecapView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { recapText } from '../recap-text.ts';

export function define(command: Command, context: CliContext): void {
  command.option('--since <duration>', 'How far to look back, such as 8h or 2d', '8h');
  context.action(command, async ({ options }) => {
    const recap = await context.get<RecapView>('/api/recap', { since: String(options.since) });
    return { json: recap, text: recapText(recap) };
  });
}
