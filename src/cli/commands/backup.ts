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
    return { json: backup, text: `Backup in ${backup.path}: ${backup.files} files, ${backup.bytes} bytes.` };
  });
}
