import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import type { SandboxLimits, SandboxProfile } from './profile.ts';

/** Limits where a profile names none (X-13). */
export const defaultLimits = {
  processes: 4096,
  openFiles: 65_536,
  tmpBytes: 2 * 1024 ** 3,
} as const;

/** What the launcher does before it becomes the command. */
export interface LauncherPlan {
  limits: SandboxLimits;
  /** Made inside, by the user inside: outside, a link that an agent left in its home could lead the server astray. */
  links?: SandboxProfile['links'];
  /** Shell text run before the command, such as the start of the forwarder. */
  before?: string;
  /** Working directory, where the driver cannot set it itself. */
  cwd?: string;
  /** False when the driver cannot count processes for one session alone. Default true. */
  countsProcesses?: boolean;
}

/**
 * Puts a small shell script before `command`: it closes every descriptor but the three standard ones (bubblewrap hands
 * inherited ones on, X-3), lowers the limits, sets umask 077 and then *becomes* the command.
 */
export function withLauncher(plan: LauncherPlan, command: readonly string[]): string[] {
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  const script = [
    closeDescriptors(shell),
    lowerLimits(plan),
    'umask 077',
    changeFolder(plan),
    ...(plan.links ?? []).map(makeLink),
    plan.before ?? '',
    'exec "$@"',
  ];
  const flags = shell === '/bin/bash' ? ['--norc', '--noprofile'] : [];
  return [shell, ...flags, '-c', script.filter(Boolean).join('\n'), 'chantier-launch', ...command];
}

/** `text` as one word of a shell command. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function changeFolder({ cwd }: LauncherPlan): string {
  return cwd === undefined ? '' : `cd ${quoteForShell(cwd)} || exit 126`;
}

function makeLink({ path, target }: { path: string; target: string }): string {
  return `mkdir -p ${quoteForShell(dirname(path))} && ln -sfn ${quoteForShell(target)} ${quoteForShell(path)}`;
}

/** The links of `profile` for a driver without mounts, where the credential folder lies at its place outside. */
export function linksOutside({ links = [], credentialFolder }: SandboxProfile): LauncherPlan['links'] {
  if (!credentialFolder) return links;
  const { inside, outside } = credentialFolder;
  return links.map(({ path, target }) => ({
    path,
    target: target.startsWith(`${inside}/`) ? outside + target.slice(inside.length) : target,
  }));
}

/** A plain /bin/sh can only name descriptors of one digit; those are all that our own wrappers open. */
function closeDescriptors(shell: string): string {
  const pattern = shell === '/bin/bash' ? '*[!0-9]*|0|1|2' : '??*|0|1|2';
  return `for d in /proc/self/fd/*; do n=\${d##*/}; case $n in ${pattern}) ;; *) eval "exec $n>&-" ;; esac; done`;
}

function lowerLimits({ limits, countsProcesses = true }: LauncherPlan): string {
  const processes = Math.floor(limits.processes ?? defaultLimits.processes);
  const openFiles = Math.floor(limits.openFiles ?? defaultLimits.openFiles);
  const lines = ['ulimit -c 0', `ulimit -n ${openFiles} 2>/dev/null || ulimit -n "$(ulimit -Hn)"`];
  if (countsProcesses) lines.push(`ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null`);
  return lines.join('\n');
}
