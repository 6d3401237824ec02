/** Processor architectures for which a filter exists. */
export type FilterArchitecture = 'x86_64' | 'aarch64';

/** The kernel's audit number of each architecture; a call of any other (32-bit, x32) fails as unknown. */
export const auditNumbers: Readonly<Record<FilterArchitecture, number>> = {
  x86_64: 0xc000003e,
  aarch64: 0xc00000b7,
};

/** Numbers of a call on x86_64 and aarch64; `null` where the architecture has none. Source: the kernel's syscall tables. */
export type CallNumbers = readonly [x86_64: number, aarch64: number | null];

/** Calls that fail with EPERM whatever their arguments: they change what the sandbox is made of, or reach the kernel's inside. */
export const deniedCalls: Readonly<Record<string, CallNumbers>> = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  setns: [308, 268],
  open_by_handle_at: [304, 265],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  vhangup: [153, 58],
  lookup_dcookie: [212, 18],
  iopl: [172, null],
  ioperm: [173, null],
};

/** Denied too, but for a profile that is `nested`: browsers change their root inside a user namespace of their own. */
export const deniedUnlessNested: Readonly<Record<string, CallNumbers>> = { chroot: [161, 51] };

/**
 * Calls that answer ENOSYS, so that libc, Node, Bun and Rust fall back to ones that the filter can judge: `clone3` hides its
 * flags behind a pointer, io_uring makes sockets without `socket()`.
 */
export const unknownCalls: Readonly<Record<string, CallNumbers>> = {
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};

/** Calls that are judged by an argument. */
export const judgedCalls = {
  socket: [41, 198],
  ioctl: [16, 29],
  clone: [56, 220],
  unshare: [272, 97],
} as const satisfies Record<string, CallNumbers>;
