import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import { runMarkerName, type WrappedCommand } from '../../sandbox/index.ts';
import { terminalHold } from '../../wire/index.ts';
import { restoreTerminal } from './restore-terminal.ts';

/** Programs that give the sandbox a terminal of its own; both from util-linux, which Debian cannot be without. */
const tools = { env: '/usr/bin/env', script: '/usr/bin/script', setsid: '/usr/bin/setsid' };

/** Whether this machine can; else the command keeps no terminal's session, and Ctrl-C and sizes do not reach it. */
export function hasTerminalTools(platform: NodeJS.Platform = process.platform): boolean {
  return platform === 'linux' && existsSync(tools.script) && existsSync(tools.setsid);
}

/**
 * The `/bin/sh` text that opens one terminal in a sandbox: at a terminal through a pseudo-terminal of its own, so that nothing
 * inside ever holds the operator's, which is left as it was found; elsewhere in a session without any. It inherits no variable but `TERM`, holds secrets
 * in itself and not on a command line (mode 0600), carries the marker by which its processes are found, and works once.
 */
export function enterScript(
  wrapped: WrappedCommand,
  at: { path: string; marker: string; again: string; ownTerminal: boolean },
): string {
  const self = quote(at.path);
  const folder = dirname(at.path);
  const entered = quote(`${folder}/entered`);
  const cleared = `${tools.env} -i ${runMarkerName}=${quote(at.marker)} PATH=/usr/bin:/bin SHELL=/bin/sh "TERM=\${TERM:-dumb}"`;
  const start = at.ownTerminal
    ? [
        ...atTerminal(`${cleared} ${tools.script} -qec ${quote(`exec /bin/sh ${self} inside`)} /dev/null`, folder),
        `  exec ${cleared} ${tools.setsid} -w /bin/sh ${self} inside ${terminalHold.fd}<&-`,
      ]
    : [
        ...atTerminal(`${cleared} /bin/sh ${self} inside`, folder),
        `  exec ${cleared} /bin/sh ${self} inside ${terminalHold.fd}<&-`,
      ];
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

/**
 * Runs `command` where a human sits, and leaves the terminal as it was, however the command ended. It ends with the command
 * line that opened it (`terminalHold`): else it would go on unseen and draw over what its terminal is used for next.
 */
function atTerminal(command: string, folder: string): string[] {
  const pid = quote(`${folder}/pid`);
  return [
    '  if [ -t 0 ] && [ -t 1 ]; then',
    '    was=$(stty -g)',
    // They are for the program inside; this one has to stay until it has ended.
    "    trap ':' INT QUIT HUP",
    '    watch=',
    `    if [ "\${${terminalHold.variable}-}" = ${terminalHold.fd} ]; then`,
    // Read at once: a handback takes the folder away, though it is refused as long as this is open.
    `      ( trap '' HUP; while ! p=$(cat ${pid}) || [ -z "$p" ]; do [ -d ${quote(folder)} ] || exit; sleep 1; done`,
    `        read -r _ <&${terminalHold.fd}`,
    // script(1) is deaf to a hangup, and to being asked while it waits for what is inside.
    `        kill "$p"; sleep 2; kill -KILL "$p" ) 2>/dev/null &`,
    '      watch=$!',
    '    fi',
    `    /bin/sh -c 'echo $$ >"$0"; exec "$@"' ${pid} ${command} ${terminalHold.fd}<&-`,
    '    code=$?',
    '    if [ -n "$watch" ]; then kill "$watch"; fi',
    ...restoreTerminal.map((line) => `    ${line}`),
    // What was killed left the cursor within what it drew.
    `    if [ "$code" -gt 128 ]; then printf '\\r\\n\\033[J'; fi`,
    // It fails where the command line was killed and its shell has the terminal again.
    '    stty "$was" 2>/dev/null',
    '    exit "$code"',
    '  fi',
  ];
}

/** One word of a POSIX shell, whatever it holds. */
function quote(word: string): string {
  if (word.includes('\0')) throw new Error('a shell word cannot hold a NUL character');
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
