import { lstatSync, readlinkSync } from 'node:fs';

import { defaultLimits } from '../launcher.ts';
import type { SandboxProfile } from '../profile.ts';
import { isFolder, isWithin, parentsOf, type PlannedMount, planMounts, systemFolders } from './plan-mounts.ts';

/**
 * Parts of the barrier that a test may leave out, to show that the attack against it succeeds without it. Never used
 * outside tests.
 */
export type Protection =
  | 'allow-list-root'
  | 'capabilities'
  | 'ipc-namespace'
  | 'network-namespace'
  | 'not-root'
  | 'pid-namespace'
  | 'proc-sys-read-only'
  | 'read-only-binds'
  | 'seccomp'
  | 'tmpfs-sizes'
  | 'user-namespace-limit'
  | 'closed-descriptors'
  | 'process-limit';

export interface ArgumentOptions {
  /** The server is root: no user namespace, the three capabilities that `setpriv` needs. */
  asRoot: boolean;
  /** Where the seccomp program will be open. */
  seccompFd: number;
  /** Files shown instead of the machine's own: the passwd and group of the sandbox's user. */
  overlays: readonly { outside: string; inside: string }[];
  without?: ReadonlySet<Protection>;
}

/** On a merged system links into /usr, elsewhere folders. */
const systemLinks = ['/bin', '/sbin', '/lib', '/lib32', '/libx32', '/lib64'];

const privateFolders = ['/tmp', '/dev/shm', '/run', '/var/tmp'];

/** The arguments of bubblewrap for `profile`, in the order of X-3, without program and command. Reads the file system. */
export function buildArguments(profile: SandboxProfile, options: ArgumentOptions): string[] {
  const without = options.without ?? new Set<Protection>();
  const mounts = planMounts(profile);
  return [
    ...namespaces(profile, options, without),
    ...(without.has('seccomp') ? [] : ['--seccomp', String(options.seccompFd)]),
    ...root(without),
    ...kernelFolders(without),
    ...privateTmpfs(profile, without),
    ...options.overlays.flatMap(({ outside, inside }) => ['--ro-bind', outside, inside]),
    ...bindMounts(mounts, without),
    ...(without.has('allow-list-root') ? [] : ['--remount-ro', '/dev', '--remount-ro', '/']),
    '--clearenv',
    ...Object.entries(profile.env).flatMap(([name, value]) => ['--setenv', name, value]),
    // As root it would need the right to enter another user's folder, which is dropped; there the launcher does it.
    '--chdir',
    options.asRoot ? '/' : profile.cwd,
  ];
}

function namespaces(profile: SandboxProfile, { asRoot }: ArgumentOptions, without: ReadonlySet<Protection>): string[] {
  const args = ['--unshare-uts', '--unshare-cgroup-try', '--hostname', 'sandbox', '--die-with-parent'];
  if (!profile.ownTerminal) args.push('--new-session');
  if (!without.has('ipc-namespace')) args.push('--unshare-ipc');
  if (!without.has('pid-namespace')) args.push('--unshare-pid');
  if (!without.has('network-namespace')) args.push('--unshare-net');
  if (!asRoot) args.push('--unshare-user');
  // A nested profile may make namespaces; mount calls stay denied by the filter.
  if (!asRoot && !profile.nested && !without.has('user-namespace-limit')) args.push('--disable-userns');
  if (!asRoot && without.has('not-root')) args.push('--uid', '0', '--gid', '0');
  if (without.has('capabilities')) return [...args, '--cap-add', 'ALL'];
  args.push('--cap-drop', 'ALL');
  if (asRoot) for (const name of ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP']) args.push('--cap-add', name);
  return args;
}

function root(without: ReadonlySet<Protection>): string[] {
  if (without.has('allow-list-root')) return ['--dev-bind', '/', '/'];
  return [...systemFolders.flatMap((path) => ['--ro-bind-try', path, path]), ...systemLinks.flatMap(linkOrFolder)];
}

function linkOrFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function kernelFolders(without: ReadonlySet<Protection>): string[] {
  const proc = ['--proc', '/proc'];
  if (!without.has('proc-sys-read-only')) proc.push('--ro-bind', '/proc/sys', '/proc/sys');
  return without.has('allow-list-root') ? proc : [...proc, '--dev', '/dev'];
}

/** Without a size each of them may take half of the machine's memory. */
function privateTmpfs(profile: SandboxProfile, without: ReadonlySet<Protection>): string[] {
  if (without.has('allow-list-root')) return [];
  const size = String(Math.floor(profile.limits.tmpBytes ?? defaultLimits.tmpBytes));
  return privateFolders.flatMap((path) => [
    ...(path === '/var/tmp' ? ['--perms', '0755', '--dir', '/var', '--symlink', '../run', '/var/run'] : []),
    ...(without.has('tmpfs-sizes') ? [] : ['--size', size]),
    '--perms',
    '1777',
    '--tmpfs',
    path,
  ]);
}

/** Binds, with missing parents made so that any user may pass through them. */
function bindMounts(mounts: readonly PlannedMount[], without: ReadonlySet<Protection>): string[] {
  const made = new Set<string>([...systemFolders, ...privateFolders, '/proc', '/dev', '/var']);
  const args: string[] = [];
  for (const { outside, inside, access } of mounts) {
    for (const parent of parentsOf(inside)) {
      const isThere = made.has(parent) || systemFolders.some((path) => isWithin(parent, path));
      if (!isThere && !mounts.some((mount) => mount.inside !== inside && isWithin(parent, mount.inside)))
        args.push('--perms', '0755', '--dir', parent);
      made.add(parent);
    }
    const writable = access === 'read-write' || without.has('read-only-binds');
    args.push(writable ? '--bind' : '--ro-bind', outside, inside);
    if (isFolder(outside)) made.add(inside);
  }
  return args;
}
