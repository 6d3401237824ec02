import type { Command } from 'commander';

import type { ToldView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  withKey(
    command
      .argument('<session>', 'Work key or id of the session')
      .argument('<text>', 'What to tell it; - reads it from stdin')
      .option('--now', 'Interrupt the turn instead of waiting for its end'),
  );
  context.action(command, async ({ args: [session = '', given = ''], options }) => {
    const text = await context.textOf(given);
    const path = `/api/sessions/${encodeURIComponent(session)}/messages`;
    const told = await context.change<ToldView>('POST', path, { text, now: options.now === true }, options);
    return {
      json: told,
      text: `${told.delivery}: ${told.message}`,
      exitCode: told.delivery === 'not-delivered' ? 10 : 0,
    };
  });
}
