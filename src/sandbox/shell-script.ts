import { quoteForShell } from './launcher.ts';
import type { WrappedCommand } from './profile.ts';

/**
 * A `/bin/sh` script that becomes the wrapped command: opens its files, clears the environment and executes it. For programs
 * that start a command by name only, such as git's `--upload-pack`.
 */
export function shellScriptOf(wrapped: WrappedCommand): string {
  const opens = wrapped.openFiles.map(({ fd, path }) => `exec ${fd}<${quoteForShell(path)}`);
  const env = Object.entries(wrapped.env).map(([name, value]) => quoteForShell(`${name}=${value}`));
  return [
    '#!/bin/sh',
    ...opens,
    `cd ${quoteForShell(wrapped.cwd)} || exit 126`,
    `exec /usr/bin/env -i ${[...env, ...wrapped.argv.map(quoteForShell)].join(' ')}`,
    '',
  ].join('\n');
}
