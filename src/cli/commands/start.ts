import type { Command } from 'commander';

import type { SessionView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  withKey(
    command
      .argument('<work-key>', 'What to work on: <project>/<task>, or PD-42')
      .argument('<project>', 'Code of the project')
      .option('--agent <codename>', 'The agent to start'),
  );
  context.action(command, async ({ args: [workKey, project], options }) => {
    const body = { workKey, project, ...(options.agent === undefined ? {} : { agent: options.agent }) };
    const session = await context.change<SessionView>('POST', '/api/sessions', body, options);
    return { json: session, text: `${session.workKey}: ${session.state} (session ${session.id})` };
  });
}
