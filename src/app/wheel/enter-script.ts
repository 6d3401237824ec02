import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import { runMarkerName, type WrappedCommand } from '../../sandbox/index.ts';

/** Programs that give the sandbox a terminal of its own; both from util-linux, which Debian cannot be without. */
const tools = { env: '/usr/bin/env', script: '/usr/bin/script', setsid: '/usr/bin/setsid' };

/** Whether this machine can; else the command keeps no terminal's session, and Ctrl-C and sizes do not reach it. */
export function hasTerminalTools(platform: NodeJS.Platform = process.platform): boolean {
  return platform === 'linux' && existsSync(tools.script) && existsSync(tools.setsid);
}

/**
 * The `/bin/sh` text that opens one terminal in a sandbox: at a terminal through a pseudo-terminal of its own, so that nothing
 * inside ever holds the operator's; elsewhere in a session without any. It inherits no variable but `TERM`, holds secrets
 * in itself and not on a command line (mode 0600), carries the marker by which its processes are found, and works once.
 */
export function enterScript(
  wrapped: WrappedCommand,
  at: { path: string; marker: string; again: string; ownTerminal: boolean },
): string {
  const self = quote(at.path);
  const entered = quote(`${dirname(at.path)}/entered`);
  const cleared = `exec ${tools.env} -i ${runMarkerName}=${quote(at.marker)} PATH=/usr/bin:/bin SHELL=/bin/sh "TERM=\${TERM:-dumb}"`;
  const start = at.ownTerminal
    ? [
        `  if [ -t 0 ] && [ -t 1 ]; then ${cleared} ${tools.script} -qec ${quote(`exec /bin/sh ${self} inside`)} /dev/null; fi`,
        `  ${cleared} ${tools.setsid} -w /bin/sh ${self} inside`,
      ]
    : [`  ${cleared} /bin/sh ${self} inside`];
  return [
    '#!/bin/sh',
    'umask 077',
    `if [ "\${1-}" != inside ]; then`,
    ...start,
    'fi',
    `if ! mkdir ${entered} 2>/dev/null; then`,
    `  echo ${quote(`This terminal was opened before. Another one: ${at.again}`)} >&2`,
    '  exit 4',
    'fi',
    ...Object.entries(wrapped.env).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...wrapped.openFiles.map(({ fd, path }) => `exec ${fd}<${quote(path)} || exit 125`),
    `cd ${quote(wrapped.cwd)} || exit 125`,
    `exec ${wrapped.argv.map(quote).join(' ')}`,
    '',
  ].join('\n');
}

/** One word of a POSIX shell, whatever it holds. */
function quote(word: string): string {
  if (word.includes('\0')) throw new Error('a shell word cannot hold a NUL character');
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
