import { execFile } from 'node:child_process';

import { Fault, forLog } from '../../kernel/index.ts';
import type { Git } from './git.ts';

/** Who a commit names. Git of the server never takes it from a configuration. */
export interface GitIdentity {
  name: string;
  email: string;
}

/** Committer of everything that the server itself writes. */
export const serverIdentity: GitIdentity = { name: 'Chantier', email: 'chantier@localhost' };

/** Where one git command works. `gitDir` is always server-owned but for the one ref write of a fast-forward. */
export interface GitPlace {
  gitDir: string;
  /** Files of this tree are read or written; never searched for a `.git`. */
  workTree?: string;
  /** Index to use instead of `<gitDir>/index`. */
  indexFile?: string;
  /** Object store to write to and read from instead of `<gitDir>/objects`. */
  objectDirectory?: string;
  /** More object stores to read from. */
  alternates?: readonly string[];
}

/** How one git command is run. */
export interface GitOptions {
  input?: string | Uint8Array;
  /** Default 60 s. */
  timeoutMs?: number;
  /** Default 16 MiB; more output is a `Fault` unless `cut` is set, then it is cut there. */
  maxOutputBytes?: number;
  cut?: boolean;
  /** Exit codes that are answers and not faults; default only 0. */
  answers?: readonly number[];
  author?: GitIdentity;
  committer?: GitIdentity;
  /** Author and committer date, epoch ms; default now. */
  dateMs?: number;
  /** Additional settings for this command, stronger than any file. */
  config?: Readonly<Record<string, string>>;
  /** Paths are patterns; default is that every character of a path means itself. */
  globPathspecs?: boolean;
  /** Octal umask of what the command writes into a checkout (`022`); default the server's own. */
  umask?: string;
}

/** What a git command answered. */
export interface GitAnswer {
  exitCode: number;
  stdout: Buffer;
  stderr: string;
  /** Whether `stdout` was cut at `maxOutputBytes`. */
  isCut: boolean;
}

/**
 * Settings that stand above every file: nothing of a repository is executed, nothing is fetched over a network, nothing is
 * collected in the background. Source: design section 4 "Git".
 */
const safeSettings: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.filesRefLockTimeout': '3000',
  'core.untrackedCache': 'false',
  'core.splitIndex': 'false',
  'core.attributesFile': '/dev/null',
  'core.sshCommand': '/bin/false',
  'core.askPass': '/bin/false',
  'core.pager': 'cat',
  'core.editor': '/bin/false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'credential.helper': '',
  'commit.gpgSign': 'false',
  'tag.gpgSign': 'false',
  'protocol.allow': 'never',
  'protocol.file.allow': 'always',
  'protocol.ext.allow': 'never',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'fetch.writeCommitGraph': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'diff.renames': 'true',
  'safe.bareRepository': 'all',
};

/** Runs git without a shell, from `/`, with a built environment. Throws `Fault` (`git_failed`, `git_timeout`, `git_output_too_large`). */
export function runGit(
  git: Git,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitAnswer> {
  const { program, argv, env } = gitCommand(git, place, args, options);
  const maxBuffer = options.maxOutputBytes ?? 16 * 1024 * 1024;
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      argv,
      {
        cwd: '/',
        env,
        encoding: 'buffer',
        maxBuffer,
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
      },
      (error, stdout, stderr) => {
        const text = stderr.toString('utf8');
        const code = error ? (error as { code?: unknown }).code : 0;
        const isCut = code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
        if (isCut && options.cut)
          return resolve({ exitCode: 0, stdout: stdout.subarray(0, maxBuffer), stderr: text, isCut });
        if (typeof code === 'number' && (options.answers ?? [0]).includes(code))
          return resolve({ exitCode: code, stdout, stderr: text, isCut: false });
        reject(faultOf(args, code, isCut, text, error));
      },
    );
    // A command that ends before it has read its input closes the pipe; its exit code says what happened.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}

/** The command line and environment of one safe git command, for callers that start it themselves. */
export function gitCommand(
  git: Git,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): { program: string; argv: string[]; env: Record<string, string> } {
  const settings = Object.entries({ ...safeSettings, ...options.config }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ]);
  const full = [...settings, ...args];
  const env = environmentOf(place, options);
  if (options.umask === undefined) return { program: git.path, argv: full, env };
  // A umask other than the server's needs a shell in between; its script is constant and the arguments stay arguments.
  const umask = /^[0-7]{3,4}$/.exec(options.umask)?.[0] ?? '077';
  return { program: '/bin/sh', argv: ['-c', `umask ${umask} && exec "$@"`, 'sh', git.path, ...full], env };
}

/** As `runGit`, for commands whose answer is one text; trailing newlines removed. */
export async function gitText(
  git: Git,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string> {
  return (await runGit(git, place, args, options)).stdout.toString('utf8').replace(/\n+$/, '');
}

/** As `runGit`, for commands that print records ended by NUL (`-z`). */
export async function gitRecords(
  git: Git,
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string[]> {
  const records = (await runGit(git, place, args, options)).stdout.toString('utf8').split('\0');
  if (records.at(-1) === '') records.pop();
  return records;
}

function environmentOf(place: GitPlace, options: GitOptions): Record<string, string> {
  const author = options.author ?? serverIdentity;
  const committer = options.committer ?? serverIdentity;
  const date = options.dateMs === undefined ? {} : dates(options.dateMs);
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    GIT_DIR: place.gitDir,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    ...(options.globPathspecs ? {} : { GIT_LITERAL_PATHSPECS: '1' }),
    GIT_ALLOW_PROTOCOL: 'file',
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
    ...date,
    ...(place.workTree === undefined ? {} : { GIT_WORK_TREE: place.workTree }),
    ...(place.indexFile === undefined ? {} : { GIT_INDEX_FILE: place.indexFile }),
    ...(place.objectDirectory === undefined ? {} : { GIT_OBJECT_DIRECTORY: place.objectDirectory }),
    ...(place.alternates?.length
      ? { GIT_ALTERNATE_OBJECT_DIRECTORIES: place.alternates.map(quoteAlternate).join(':') }
      : {}),
  };
}

function dates(dateMs: number): Record<string, string> {
  const stamp = `@${Math.floor(dateMs / 1000)} +0000`;
  return { GIT_AUTHOR_DATE: stamp, GIT_COMMITTER_DATE: stamp };
}

/** Git takes a path that starts with a double quote as C-quoted; a colon would split the list. */
function quoteAlternate(path: string): string {
  return /[:"\\]/.test(path) ? `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : path;
}

function faultOf(args: readonly string[], code: unknown, isCut: boolean, stderr: string, cause: unknown): Fault {
  const verb = args.find((arg) => !arg.startsWith('-')) ?? 'git';
  const facts = { command: verb, exitCode: typeof code === 'number' ? code : null };
  if (isCut)
    return new Fault('git_output_too_large', `git ${verb} printed more than the server reads`, { facts, cause });
  const wasKilled = (cause as { killed?: boolean } | null)?.killed === true;
  if (wasKilled)
    return new Fault('git_timeout', `git ${verb} did not end in time and was stopped`, {
      retryable: true,
      facts,
      cause,
    });
  const reason = forLog(stderr.trim().split('\n').slice(-3).join(' | '), 400);
  return new Fault('git_failed', `git ${verb} failed (${String(code)}): ${reason}`, {
    retryable: /\.lock|unable to lock|Unable to create/i.test(stderr),
    facts,
    cause,
  });
}
