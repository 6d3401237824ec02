import { resolve } from 'node:path';

import type { Command } from 'commander';

import type { BackupView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  withKey(command.argument('[path]', 'Where to write it (default: a new folder in backups/ of the home)'));
  context.action(command, async ({ args: [path], options }) => {
    const body = path === undefined ? {} : { path: resolve(context.io.cwd, path) };
    const backup = await context.change<BackupView>('POST', '/api/backups', body, options);
    return { json: backup, text: textOf(backup) };
  });
}

function textOf({ path, files, bytes, head, database, notIncluded }: BackupView): string {
  return [
    `Backup in ${path}: ${files} files, ${bytes} bytes. Anchor of its event log: ${head.seq}:${head.hash}`,
    `Not in it: ${notIncluded.join('; ')}.`,
    database === 'postgres'
      ? 'The database is PostgreSQL and not in it: a pg_dump that was finished BEFORE this backup began belongs to it.'
      : `"chantier restore ${path}" puts it back. Keep it on another disk, as private as the home itself.`,
  ].join('\n');
}
