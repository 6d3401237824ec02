import type { Command } from 'commander';

import type { SessionFolderView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { visible } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('<session>', 'Work key or id of the session');
  context.action(command, async ({ args: [session = ''] }) => {
    const folder = await context.get<SessionFolderView>(`/api/sessions/${encodeURIComponent(session)}/folder`);
    return { json: folder, text: visible(folder.path) };
  });
}
