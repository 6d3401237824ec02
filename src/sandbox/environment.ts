import { isAbsolute } from 'node:path';

import { Fault } from '../kernel/index.ts';

/** What a child's environment is built from; nothing else of the server's own environment reaches a child. */
export interface EnvironmentParts {
  /** The child's private HOME, absolute. */
  home: string;
  /** Folders put before the system's on PATH (toolchains), absolute; relative ones are refused. */
  path?: readonly string[];
  /** Author and committer of commits made inside. */
  git?: { name: string; email: string };
  /** Names that the operator allowed to be handed on from `from`; a name that is never handed on is refused. */
  names?: readonly string[];
  /** Where `names` are looked up. Default: the server's own environment. */
  from?: Readonly<Record<string, string | undefined>>;
  /** Values set by name, handed over for this child alone: its run marker, its API key, proxy variables. */
  set?: Readonly<Record<string, string>>;
}

/** Folders of every child's PATH, after those of its toolchains. */
export const systemPath: readonly string[] = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];

/**
 * Builds a child's complete environment (design section 4 "Environment"): PATH of absolute folders, LANG, its own HOME and
 * temporary folder, git identity, allowed names. Throws `Fault` for a relative PATH folder and for a name that
 * `environmentNameFault` refuses.
 */
export function buildEnvironment(parts: EnvironmentParts): Record<string, string> {
  const env: Record<string, string> = {
    PATH: joinPath(parts.path ?? []),
    LANG: 'C.UTF-8',
    HOME: parts.home,
    TMPDIR: '/tmp',
    // git asks nobody for a password: there is nobody inside.
    GIT_TERMINAL_PROMPT: '0',
  };
  if (parts.git) Object.assign(env, gitIdentity(parts.git));
  const from = parts.from ?? process.env;
  for (const name of parts.names ?? []) {
    const fault = environmentNameFault(name);
    if (fault) throw new Fault('environment_name_refused', `The variable ${name} ${fault}; remove it from the list.`);
    const value = from[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...parts.set };
}

/** Variables that carry a secret of the server, or that make a program run code or load a library. */
const neverHandedOn =
  /(_TOKEN|_SECRET|_PASSWORD|_PASSPHRASE|_PRIVATE_KEY)$|^(SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DATABASE_URL|PGPASSWORD|NODE_OPTIONS|BASH_ENV|ENV|PYTHONSTARTUP|PERL5OPT|RUBYOPT|JAVA_TOOL_OPTIONS|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|DOCKER_HOST|TMUX)$|^(GIT_|LD_|DYLD_|CHANTIER_|BASH_FUNC_)/;

/** Why a variable of this name is never handed on from the server's environment, or `undefined` when it may be. */
export function environmentNameFault(name: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'is not a variable name';
  return neverHandedOn.test(name) ? 'is never handed on: it carries a secret or changes what programs load' : undefined;
}

function joinPath(folders: readonly string[]): string {
  const relative = folders.find((folder) => !isAbsolute(folder) || folder.includes(':'));
  if (relative !== undefined)
    throw new Fault('path_not_absolute', `PATH of a child may hold absolute folders only, not "${relative}".`);
  return [...new Set([...folders, ...systemPath])].join(':');
}

function gitIdentity({ name, email }: { name: string; email: string }): Record<string, string> {
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}
