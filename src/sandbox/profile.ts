/** What a process in the sandbox is there for; each kind has its own rights. */
export type ProfileKind = 'author' | 'reviewer' | 'check' | 'setup' | 'automation' | 'upload-pack';

/** A path outside and where it appears inside. */
export interface Mount {
  outside: string;
  inside: string;
}

/** What one sandboxed process may see and do, as data. All paths absolute. */
export interface SandboxProfile {
  kind: ProfileKind;
  /** The session's clone; the same path inside and outside. */
  workFolder: string;
  workFolderAccess: 'read-write' | 'read-only';
  /** A private, writable home of this session; the same path inside and outside. */
  home: string;
  /** Forge objects, toolchains and the like, readable only; same path inside. Missing ones are left out. */
  readOnly: readonly string[];
  /** Private caches; same path inside. */
  writable: readonly string[];
  /** The log-in of this agent only, writable so that it can refresh its tokens (`prepareCredentials`). */
  credentialFolder?: Mount;
  /** Symbolic links made inside before the command starts, such as a log-in's place in the private home; parents are made too. */
  links?: readonly { path: string; target: string }[];
  /** Folders that hold unix sockets (a bound socket file is dead once its server restarts, X-3). */
  socketFolders: readonly Mount[];
  /** The complete environment inside; nothing else is inherited. */
  env: Readonly<Record<string, string>>;
  /** Working directory inside. */
  cwd: string;
  /**
   * `none`: no network at all. `wall`: the allow-list proxy whose socket lies in `socketFolder`. `hosts`: names for the
   * proxy of the driver's own (macOS); the Linux driver takes it for `none`.
   */
  network: { kind: 'none' } | { kind: 'wall'; socketFolder: string } | { kind: 'hosts'; hosts: readonly string[] };
  /** Allows user namespaces inside, for browsers with a sandbox of their own. Default false. */
  nested?: boolean;
  /**
   * A human's terminal: the command stays in the session of the pseudo-terminal that was made for it, so that keys, signals and
   * sizes reach it. Default false: a session of its own, without any terminal.
   */
  ownTerminal?: boolean;
  limits: SandboxLimits;
}

/** Bounds of one sandboxed process tree; left out = the driver's default. */
export interface SandboxLimits {
  processes?: number;
  openFiles?: number;
  /** Address space or cgroup limit where there is one. */
  memoryBytes?: number;
  /** Size of each private tmpfs. */
  tmpBytes?: number;
}

/** What bounds a process tree with this driver on this machine. */
export interface EnforcedLimits {
  /** `session`: counted for each session alone; `user`: all sessions of the sandbox's user share one count. */
  processes: 'session' | 'user' | 'none';
  /** `cgroup`: a memory limit holds; `none`: there is no memory limit on this machine. */
  memory: 'cgroup' | 'none';
}

/** A command ready to be executed by the session's shell wrapper or by `runInSandbox`. */
export interface WrappedCommand {
  argv: readonly string[];
  /** The complete environment of the outermost process. */
  env: Readonly<Record<string, string>>;
  /** Working directory of the outermost process, outside. */
  cwd: string;
  /** Files that must be open for reading at these descriptors before `argv` is executed (bubblewrap's `--args`, `--seccomp`). */
  openFiles: readonly { fd: number; path: string }[];
}

/** The barrier around agents, set-up steps and checks (design section 4, X-1). */
export interface Sandbox {
  readonly driver: 'bubblewrap' | 'none' | 'seatbelt' | 'user';
  /** Whether "no agent can decide" holds with this driver; every surface says so when it does not. */
  readonly holds: boolean;
  /** The user that processes inside run as, where it differs from the server's; work folders are given to it. */
  readonly owner?: { uid: number; gid: number };
  /** Which limits are really enforced; shown by `doctor` (X-13: without a cgroup "no memory limit" is said). */
  readonly limits: EnforcedLimits;
  /**
   * Turns `command` (absolute program first) into what is really executed. Writes what it needs (arguments, filter) into
   * `stateFolder`, which must exist, be private and outside every sandbox. Throws `Fault` when a path is missing.
   */
  wrap(profile: SandboxProfile, command: readonly string[], stateFolder: string): Promise<WrappedCommand>;
}
