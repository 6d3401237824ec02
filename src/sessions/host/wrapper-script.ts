import { accessSync, constants } from 'node:fs';

import { Fault } from '../../kernel/index.ts';
import type { WrappedCommand } from '../../sandbox/index.ts';
import type { GenerationFiles } from './generation-files.ts';

/** Descriptors that `WrappedCommand.openFiles` may name: `/bin/sh` can redirect single digits only. */
const lowestExtraFd = 3;
const highestExtraFd = 9;

/**
 * The `/bin/sh` text that owns one generation (design section 7, X-6). It knows absolute paths only and changes nothing of
 * its environment, so it works from a bundle, for any user, and with an environment that the agent's own PATH fills.
 *
 * Order: companions, then the agent's shell connects its pipes, writes all identities by rename, looks at the latch once
 * more and executes the agent; afterwards the exit status by rename. Signals to the whole group end the agent and the
 * feeder, but not the wrapper (it must write the status) nor the two that store output (they end with their pipes).
 */
export function buildWrapperScript(files: GenerationFiles, command: WrappedCommand): string {
  const program = findPrograms(['tail', 'cat', 'dd', 'mv', 'rm', 'mkfifo']);
  const folder = quote(files.folder);
  return `#!/bin/sh
umask 077
folder=${folder}
trap : TERM HUP INT

identify() { identity="{\\"pid\\":$1,\\"startTime\\":\${22}}"; }
identity_of() { read -r stat <"/proc/$1/stat" && identify $stat; }

identity_of self; wrapper=$identity
read -r boot </proc/sys/kernel/random/boot_id
${program.mkfifo} "$folder/stdin" "$folder/stdout" "$folder/stderr" || exit 1

( trap '' TERM HUP INT; exec ${program.cat} <"$folder/stdout" >>"$folder/out.ndjson" 2>/dev/null ) &
identity_of $!; appender=$identity
( trap '' TERM HUP INT
  exec <"$folder/stderr" >/dev/null 2>&1
  part=0
  while ${program.dd} bs=4096 count=128 of="$folder/err.$part"; [ -s "$folder/err.$part" ]; do part=$(((part + 1) % 3)); done
) &
identity_of $!; ring=$identity
${program.tail} -c +1 -f "$folder/in.ndjson" >"$folder/stdin" 2>/dev/null &
feeder_pid=$!
identity_of $feeder_pid; feeder=$identity

(
  trap - TERM HUP INT
  identity_of self; agent=$identity
  exec <"$folder/stdin" >"$folder/stdout" 2>"$folder/stderr"
  ${program.rm} -f "$folder/stdin" "$folder/stdout" "$folder/stderr"
  printf '{"version":1,"bootId":"%s","wrapper":%s,"agent":%s,"feeder":%s,"appender":%s,"ring":%s}\\n' \\
    "$boot" "$wrapper" "$agent" "$feeder" "$appender" "$ring" >"$folder/pid.new" || exit 125
  ${program.mv} "$folder/pid.new" "$folder/pid" || exit 125
  [ -e "$folder/stop" ] && exit 125
  cd ${quote(command.cwd)} || exit 125
  unset OLDPWD
${redirections(command.openFiles)}
  exec ${command.argv.map(quote).join(' ')}
) &
agent_pid=$!

while wait $agent_pid; code=$?; kill -0 $agent_pid 2>/dev/null; do :; done
printf '{"code":%s}\\n' $code >"$folder/exit.new" && ${program.mv} "$folder/exit.new" "$folder/exit"
kill $feeder_pid 2>/dev/null
exit 0
`;
}

/** Opens what the sandbox asked for and closes every other descriptor that a shell can name. */
function redirections(openFiles: WrappedCommand['openFiles']): string {
  const lines: string[] = [];
  for (let fd = lowestExtraFd; fd <= highestExtraFd; fd += 1) {
    const file = openFiles.find((open) => open.fd === fd);
    lines.push(file ? `  exec ${fd}<${quote(file.path)} || exit 125` : `  exec ${fd}<&-`);
  }
  for (const { fd } of openFiles)
    if (fd < lowestExtraFd || fd > highestExtraFd)
      throw new Error(`the session wrapper can open descriptors ${lowestExtraFd} to ${highestExtraFd}, not ${fd}`);
  return lines.join('\n');
}

const foundPrograms = new Map<string, string>();

/** Absolute paths of the machine's own tools; PATH is never asked. */
function findPrograms<N extends string>(names: readonly N[]): Record<N, string> {
  return Object.fromEntries(names.map((name) => [name, findProgram(name)])) as Record<N, string>;
}

function findProgram(name: string): string {
  const known = foundPrograms.get(name);
  if (known) return known;
  for (const folder of ['/usr/bin', '/bin']) {
    try {
      accessSync(`${folder}/${name}`, constants.X_OK);
    } catch {
      continue;
    }
    foundPrograms.set(name, `${folder}/${name}`);
    return `${folder}/${name}`;
  }
  throw new Fault('tool_missing', `${name} is neither in /usr/bin nor in /bin; install it (coreutils) and try again`);
}

/** One word of a POSIX shell, whatever it holds. */
function quote(word: string): string {
  if (word.includes('\0')) throw new Error('a shell word cannot hold a NUL character');
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
