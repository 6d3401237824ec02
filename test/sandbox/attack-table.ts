import type { Protection } from '../../src/sandbox/bubblewrap/build-arguments.ts';

/** Sets of protections that are taken away together, to see the attacks that they hold off succeed. */
export const weakened = {
  processes: ['pid-namespace'],
  files: ['allow-list-root', 'read-only-binds'],
  kernel: ['seccomp', 'user-namespace-limit', 'capabilities', 'not-root', 'proc-sys-read-only'],
  network: ['network-namespace'],
  memory: ['ipc-namespace'],
  sizes: ['tmpfs-sizes', 'process-limit'],
  descriptors: ['closed-descriptors'],
} as const satisfies Record<string, readonly Protection[]>;

export type Weakening = keyof typeof weakened;

/** With uid 0 inside as well, where file rights alone would still hold. */
export const weakenedRootFiles: readonly Protection[] = [...weakened.files, 'not-root', 'capabilities'];

export interface Attack {
  name: string;
  /** Number of the group in the list of attacks of the specification. */
  group: number;
  /** What must be taken away for the attack to succeed, as an ordinary user and with a root server; else why it never does. */
  user: Weakening | `never: ${string}`;
  root: Weakening | `never: ${string}`;
}

const byRights = 'never: file rights hold for an ordinary user';
const otherNamespace = 'never: the user namespace holds it off as well';
const always = 'never: bubblewrap always sets no_new_privs';
const machine = 'never: depends on what runs on the machine';

/** Every attack of `attacks/attacks.pl`. */
export const attacks: readonly Attack[] = [
  { group: 1, name: 'outside-list', user: 'processes', root: 'processes' },
  { group: 1, name: 'outside-environ', user: otherNamespace, root: 'processes' },
  { group: 1, name: 'outside-kill', user: 'processes', root: 'processes' },
  { group: 1, name: 'outside-ptrace', user: otherNamespace, root: 'processes' },
  { group: 2, name: 'session-environ', user: otherNamespace, root: 'processes' },
  { group: 1, name: 'shared-memory', user: 'memory', root: 'memory' },
  { group: 3, name: 'hidden-token', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-store', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-journal', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-other-session', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-proc-1-root', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-proc-cwd', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-symlink', user: 'files', root: 'files' },
  { group: 3, name: 'hidden-hard-link', user: 'files', root: 'files' },
  { group: 3, name: 'rename-over-mount', user: 'files', root: 'files' },
  { group: 4, name: 'unshare-user', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'unshare-all', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'unshare-program', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'clone-user', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'clone3', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'nested-bubblewrap', user: 'kernel', root: 'kernel' },
  { group: 4, name: 'setns', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'mount-tmpfs', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'mount-bind', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'umount', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'fsopen', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'open-tree', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'mknod', user: 'never: no user namespace may make a device', root: 'kernel' },
  { group: 5, name: 'chroot', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'device-nodes', user: byRights, root: 'files' },
  { group: 5, name: 'io-uring', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'userfaultfd', user: 'kernel', root: 'kernel' },
  { group: 5, name: 'bpf', user: 'never: unprivileged bpf is off on most machines', root: 'kernel' },
  {
    group: 5,
    name: 'perf',
    user: 'never: depends on the kernel setting',
    root: 'never: not every machine counts events',
  },
  { group: 5, name: 'open-by-handle', user: 'never: needs a right of the first user namespace', root: 'kernel' },
  { group: 6, name: 'forge-objects', user: 'files', root: 'files' },
  { group: 6, name: 'forge-refs', user: 'files', root: 'files' },
  { group: 6, name: 'forge-chmod', user: 'files', root: 'files' },
  { group: 7, name: 'system-write', user: byRights, root: 'files' },
  { group: 7, name: 'core-pattern', user: byRights, root: 'kernel' },
  { group: 7, name: 'sysrq', user: byRights, root: 'never: bubblewrap itself covers it' },
  { group: 7, name: 'sys-tree', user: 'files', root: 'files' },
  { group: 7, name: 'cgroup-files', user: byRights, root: 'files' },
  { group: 8, name: 'etc-shadow', user: byRights, root: 'kernel' },
  { group: 8, name: 'keyring', user: 'kernel', root: 'kernel' },
  { group: 9, name: 'unix-sockets', user: 'files', root: 'files' },
  { group: 9, name: 'services', user: machine, root: machine },
  { group: 9, name: 'setuid-program', user: always, root: always },
  { group: 10, name: 'abstract-socket', user: 'network', root: 'network' },
  { group: 10, name: 'host-loopback', user: 'network', root: 'network' },
  { group: 10, name: 'host-address', user: 'network', root: 'network' },
  { group: 10, name: 'host-ipv6', user: 'network', root: 'network' },
  { group: 10, name: 'udp', user: 'network', root: 'network' },
  { group: 10, name: 'name-server', user: machine, root: machine },
  { group: 10, name: 'raw-socket', user: 'kernel', root: 'kernel' },
  { group: 10, name: 'packet-socket', user: 'kernel', root: 'kernel' },
  { group: 10, name: 'vsock', user: 'kernel', root: 'kernel' },
  { group: 12, name: 'other-session-socket', user: 'files', root: 'files' },
  { group: 12, name: 'own-socket-unlinked', user: 'files', root: 'files' },
  { group: 12, name: 'own-socket-replaced', user: 'files', root: 'files' },
  { group: 12, name: 'own-journal', user: 'descriptors', root: 'descriptors' },
  { group: 12, name: 'inherited-descriptors', user: 'descriptors', root: 'descriptors' },
  { group: 14, name: 'fill-tmp', user: 'sizes', root: 'sizes' },
  { group: 14, name: 'fill-shm', user: 'sizes', root: 'sizes' },
  { group: 14, name: 'fork-bomb', user: 'sizes', root: 'sizes' },
];
