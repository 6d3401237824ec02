import type { Command } from 'commander';

import type { SessionView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';
import { withNotice } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  withKey(command.argument('<session>', 'Work key or id of the session'));
  context.action(command, async ({ args: [session = ''], options }) => {
    const path = `/api/sessions/${encodeURIComponent(session)}/pause`;
    const changed = await context.change<SessionView>('DELETE', path, {}, options);
    return { json: changed, text: withNotice(`${changed.workKey}: ${changed.state}`, changed.notice) };
  });
}
