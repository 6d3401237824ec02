import type { Command } from 'commander';

import type { HandedBackView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';
import { oneLine } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  withKey(
    command
      .argument('<session>', 'Work key or id of the session')
      .option('--note <text>', 'What the agent should know; - reads it from stdin')
      .option('--commit <message>', 'Commit what is uncommitted, under this message')
      .option('--end', 'End a terminal that is still open in it'),
  );
  context.action(command, async ({ args: [session = ''], options }) => {
    const note = typeof options.note === 'string' ? await context.textOf(options.note) : undefined;
    const body = {
      ...(note === undefined ? {} : { note }),
      ...(typeof options.commit === 'string' ? { commit: options.commit } : {}),
      end: options.end === true,
    };
    const path = `/api/sessions/${encodeURIComponent(session)}/takeover`;
    const done = await context.change<HandedBackView>('DELETE', path, body, options);
    const lines = done.commits.map(
      ({ id, author, subject }) => `  ${id.slice(0, 12)} ${oneLine(author, 40)}: ${oneLine(subject)}`,
    );
    return {
      json: done,
      text: [`${done.session.workKey}: ${done.session.state}. ${done.message}`, ...lines].join('\n'),
    };
  });
}
