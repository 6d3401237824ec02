import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { type InstancePaths, operatorSocketOf, parseSetting, settings } from '../config/index.ts';
import { createClient } from './client.ts';
import { CommandFailure, failWith } from './outcome.ts';

/** How long a server may take until it answers. */
const readyWithinMs = 30_000;

/** What a server takes over from the environment of whoever starts it: no token, no key, no agent socket (design 4). */
const carriedNames = [
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
];

/** The environment of a detached server. */
export function serverEnvironment(env: NodeJS.ProcessEnv, home: string): Record<string, string> {
  const carried: Record<string, string> = { CHANTIER_HOME: home };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const isSetting =
      name.startsWith('CHANTIER_') &&
      !['CHANTIER_TOKEN', 'CHANTIER_URL', 'CHANTIER_RUN', 'CHANTIER_HOME'].includes(name);
    if (isSetting || carriedNames.includes(name)) carried[name] = value;
  }
  const folders = (env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  carried.PATH = folders.length > 0 ? folders.join(':') : '/usr/local/bin:/usr/bin:/bin';
  return carried;
}

/**
 * Whether a verb may start the server: `autostart` of the environment, else what an operator set, read from the store itself
 * because no server runs that could be asked.
 */
export async function mayAutostart(paths: InstancePaths, env: NodeJS.ProcessEnv): Promise<boolean> {
  const given = env[settings.autostart.env] ?? (await storedAutostart(paths.database)) ?? settings.autostart.default;
  const parsed = parseSetting(settings.autostart, given);
  return 'value' in parsed && parsed.value === true;
}

async function storedAutostart(database: string): Promise<boolean | undefined> {
  if (!existsSync(database)) return undefined;
  try {
    const { DatabaseSync } = await import('node:sqlite');
    const store = new DatabaseSync(database, { readOnly: true });
    const row = store.prepare(`SELECT value FROM setting WHERE key = 'config.autostart'`).get() as
      | { value: string }
      | undefined;
    store.close();
    return row === undefined ? undefined : JSON.parse(row.value) === true;
  } catch {
    return undefined;
  }
}

/** What a detached server is started with. */
export interface DetachedServer {
  paths: InstancePaths;
  env: NodeJS.ProcessEnv;
  /** Arguments after `up`: port, database. */
  args?: readonly string[];
}

/**
 * Starts a server detached, with a clean environment, and waits until it is ready. Refuses inside an agent (exit 9). Two who
 * do so at once get the same server. Throws exit 7 with the end of its log when it does not come up.
 */
export async function startDetached({ paths, env, args = [] }: DetachedServer): Promise<{ pid: number | undefined }> {
  refuseInsideAgent(env);
  await refuseHalfRestored(paths);
  makeLogFolder(paths);
  const logFile = `${paths.logs}/server.log`;
  const log = openSync(logFile, 'a', 0o600);
  const logStart = statSync(logFile).size;
  try {
    const child = spawn(process.execPath, [...process.execArgv, programFile(), 'up', '--serve', ...args], {
      cwd: '/',
      detached: true,
      env: serverEnvironment(env, paths.home),
      stdio: ['ignore', log, log],
    });
    let exited: number | null | undefined;
    child.once('exit', (code) => (exited = code));
    child.once('error', () => (exited = 1));
    await waitUntilReady(paths, () => exited, { logFile, logStart });
    child.unref();
    return { pid: child.pid };
  } finally {
    closeSync(log);
  }
}

function makeLogFolder(paths: InstancePaths): void {
  try {
    mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CommandFailure(1, {
      code: 'home_not_writable',
      kind: 'fault',
      detail: `Chantier cannot write its home ${paths.home} (${(error as Error).message}): make it writable, free disk space, or set CHANTIER_HOME.`,
    });
  }
}

/** Waits until the server of this home answers `/readyz`; `exited` tells that the one we started has ended. */
async function waitUntilReady(
  paths: InstancePaths,
  exited: () => number | null | undefined,
  log: { logFile: string; logStart: number },
): Promise<void> {
  const giveUpAt = performance.now() + readyWithinMs;
  while (performance.now() < giveUpAt) {
    if (await isReady(paths)) return;
    // Somebody else may have won the home and not be ready yet.
    if (exited() !== undefined && !(await isHeld(paths))) throw notUp(exited() ?? 1, log);
    await sleep(25);
  }
  throw failWith(
    'unreachable',
    'server_not_ready',
    `The server did not get ready within ${readyWithinMs / 1000} s; its log is ${log.logFile}.`,
  );
}

/** Whether the server of this home answers and its store can be used. */
export async function isReady(paths: InstancePaths): Promise<boolean> {
  const socket = operatorSocketOf(paths.home);
  if (socket === undefined) return false;
  try {
    await createClient({ socket }, undefined).send('GET', '/readyz', { timeoutMs: 5000 });
    return true;
  } catch {
    return false;
  }
}

/** Waits up to `ms` for another process's server of this home to get ready. */
export async function awaitReady(paths: InstancePaths, ms: number): Promise<boolean> {
  const giveUpAt = performance.now() + ms;
  while (performance.now() < giveUpAt) {
    if (await isReady(paths)) return true;
    await sleep(50);
  }
  return false;
}

/** Throws exit 9 when this process runs inside an agent: agents start no servers (design 5). */
export function refuseInsideAgent(env: NodeJS.ProcessEnv): void {
  if (env.CHANTIER_RUN === undefined) return;
  throw failWith(
    'not-permitted',
    'inside_agent',
    'This runs inside an agent’s session: no agent starts a server or opens a terminal.',
  );
}

/** Throws exit 6 with the one command when a restore died between its two renames: no new home is made in its place. */
export async function refuseHalfRestored(paths: InstancePaths): Promise<void> {
  if (existsSync(paths.database)) return;
  const { readInterruptedRestore } = await import('../app/index.ts');
  const command = readInterruptedRestore(paths);
  if (command === undefined) return;
  throw failWith(
    'wrong-state',
    'restore_interrupted',
    `A restore was interrupted. This takes the home of before back: ${command}`,
    { command },
  );
}

async function isHeld(paths: InstancePaths): Promise<boolean> {
  const { acquireInstanceLock } = await import('../store/index.ts');
  const lock = acquireInstanceLock(paths);
  if (lock.held) lock.release();
  return !lock.held;
}

/** The file that runs as `chantier`: this very program. */
function programFile(): string {
  return process.argv[1] ?? '';
}

function notUp(exitCode: number, { logFile, logStart }: { logFile: string; logStart: number }): CommandFailure {
  const lines = readFileSync(logFile).subarray(logStart).toString('utf8').trim().split('\n');
  const said = lines
    .filter((line) => !line.startsWith('{'))
    .slice(-3)
    .join(' ')
    .trim();
  return new CommandFailure(exitCode === 0 ? 7 : exitCode, {
    code: 'server_not_started',
    detail: said === '' ? `The server ended at once (exit ${exitCode}); its log is ${logFile}.` : said,
  });
}
