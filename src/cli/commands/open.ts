import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

import type { Command } from 'commander';

import type { SessionFolderView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { CommandFailure, failWith } from '../outcome.ts';
import { visible } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('<session>', 'Work key or id of the session');
  context.action(command, async ({ args: [session = ''], options }) => {
    const folder = await context.get<SessionFolderView>(`/api/sessions/${encodeURIComponent(session)}/folder`);
    const path = visible(folder.path);
    if (context.io.env.CHANTIER_RUN !== undefined)
      throw failWith('not-permitted', 'no_editor_for_agents', 'An agent opens no editor of the operator.');
    const editor = context.io.env.VISUAL?.trim() || context.io.env.EDITOR?.trim();
    if (!editor)
      throw failWith('invalid', 'no_editor', `Neither VISUAL nor EDITOR is set. The folder is ${path}`, { path });
    if (!existsSync(folder.path))
      throw failWith('not-found', 'elsewhere', `${path} is on the machine of the server, not here.`, { path });
    const code = await run([...editor.split(/\s+/), folder.path], options.json === true);
    if (code !== 0)
      throw new CommandFailure(1, {
        code: 'editor_failed',
        detail: `"${visible(editor)}" ended with ${code}. The folder is ${path}`,
        path,
      });
    return { json: { ...folder, editor }, text: '' };
  });
}

/** Runs the operator's editor in this terminal, without a shell; with `--json` what it prints goes to stderr. */
function run([program = '', ...args]: string[], json: boolean): Promise<number | string> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['inherit', json ? process.stderr : 'inherit', 'inherit'] });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'a signal'));
  });
}
