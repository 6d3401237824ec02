import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { operatorSocketOf } from '../../src/config/index.ts';
import { builtPackage, node } from './built-package.ts';
import { type Answer, sendHttp } from './http.ts';
import { processesOf } from './processes.ts';

/** The program as it is shipped. */
export const entry = join(builtPackage(), 'dist/cli.js');

/** What a finished CLI call gave. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
  /** The one JSON document of `--json`; `undefined` when stdout is none. */
  json: any; // oxlint-disable-line typescript/no-explicit-any -- each test knows its document
}

export interface CliOptions {
  /** Hands the passphrase over by a file descriptor. */
  proof?: boolean;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
}

/** A real instance in a fresh home: a server process of its own, driven by the CLI as a person would. */
export interface Instance {
  /** Everything of it lies below this folder. */
  root: string;
  /** `CHANTIER_HOME`. */
  home: string;
  passphrase: string;
  env: NodeJS.ProcessEnv;
  /** Starts the server in the foreground of a child and waits until it is ready. */
  up(): Promise<ChildProcess>;
  /** The running server. */
  server(): ChildProcess;
  /** Ends the server without a word and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Moves the server's clocks ahead while it runs; resolves when it knows. */
  advanceClock(ms: number): Promise<void>;
  /** Address of the console and the API on TCP. */
  url(): string;
  /** Runs a verb with `--json`. */
  cli(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** As `cli`, and throws with its output unless it exits 0. */
  must(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** First run: operator and phase, as `chantier init` does it. */
  init(phase?: number): Promise<void>;
  /** Registers a script, with the words after it, as an agent on Node. */
  addAgent(
    codename: string,
    family: string,
    role: 'author' | 'reviewer',
    command: readonly string[],
    driver?: 'acp' | 'command',
  ): Promise<void>;
  /** Reads from the API over the operator's socket; throws for anything but a success. */
  get(path: string): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- each test knows its document
  /** Changes something over the operator's socket, with a fresh proof when `proof` is set. */
  send(method: string, path: string, body: unknown, options?: { proof?: boolean }): Promise<Answer>;
  /** Asks again until `probe` gives something; throws with the server's log after `timeoutMs`. */
  until<T>(what: string, probe: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
  /** Ends the server and every agent, removes the folders. */
  dispose(): Promise<void>;
}

/** How the server of an instance is started. */
export interface ServerOptions {
  /** Another program than `chantier up --serve`, which composes the same server. */
  entry?: string;
  /** `CHANTIER_HOME`; default: a folder below the root. */
  home?: string;
  /** The user that the server runs as; for tests as root. Default: whoever runs the tests. */
  user?: { uid: number; gid: number };
}

/** Makes an instance; nothing runs yet. `settings` are further environment variables. */
export function createInstance(settings: NodeJS.ProcessEnv = {}, options: ServerOptions = {}): Instance {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'che2e-')));
  const home = options.home ?? join(root, 'c');
  const passphrase = `passphrase ${Math.random().toString(36).slice(2)}`;
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: join(root, 'operator'),
    LANG: 'C.UTF-8',
    CHANTIER_HOME: home,
    CHANTIER_PORT: '0',
    CHANTIER_AUTOSTART: 'false',
    // Tests of a short disk set their own.
    CHANTIER_DISK_MIN_FREE: '0B',
    // Whatever else runs beside the tests.
    CHANTIER_PRESSURE_MEMORY: '100',
    CHANTIER_PRESSURE_IO: '100',
    ...settings,
  };
  mkdirSync(join(root, 'operator'));
  for (const folder of options.user ? [root, join(root, 'operator')] : [])
    chownSync(folder, options.user!.uid, options.user!.gid);
  let server: ChildProcess | undefined;
  const socketAndToken = () => ({
    socket: operatorSocketOf(home)!,
    token: readFileSync(join(home, 'operator.token'), 'utf8').trim(),
  });

  const lastEvents = async (): Promise<string> => {
    const text = await instance.get('/api/audit/export').catch(() => '');
    const lines = String(text).trim().split('\n').slice(-25).filter(Boolean);
    return lines
      .map((line) => JSON.parse(line))
      .map(({ at, kind, facts }) => [at, kind, facts].join(' ').slice(0, 300))
      .join('\n');
  };

  const instance: Instance = {
    root,
    home,
    passphrase,
    env,
    server() {
      if (!server) throw new Error('no server was started');
      return server;
    },
    async advanceClock(ms) {
      const known = new Promise((done) => instance.server().once('message', done));
      instance.server().send({ advanceMs: ms });
      await known;
    },
    url: () => readAddress(home)!.url,
    cli: (args, options = {}) => runCli(env, root, passphrase, args, options),
    async must(args, options) {
      const result = await instance.cli(args, options);
      if (result.code !== 0)
        throw new Error(`chantier ${args.join(' ')} exited ${result.code}: ${result.stdout}${result.stderr}`);
      return result;
    },
    async up() {
      server = await startServer(instance, options);
      return server;
    },
    async kill(signal = 'SIGKILL') {
      const child = instance.server();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((done) => child.once('exit', done));
      child.kill(signal);
      await gone;
    },
    async init(phase = 3) {
      await succeed(instance.send('POST', '/api/first-run', { passphrase }));
      await succeed(instance.send('PUT', '/api/instance/setup', { phase }, { proof: true }));
    },
    async addAgent(codename, family, role, command, driver = 'acp') {
      const agent = { codename, family, roles: [role], command: [node, ...command], driver };
      await succeed(instance.send('POST', '/api/agents', agent, { proof: true }));
    },
    async get(path) {
      const { status, body } = await sendHttp({ ...socketAndToken(), path });
      if (status >= 300) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    async send(method, path, body, options = {}) {
      const headers: Record<string, string> = {};
      if (options.proof) {
        const proof = await sendHttp({
          ...socketAndToken(),
          method: 'POST',
          path: '/api/proofs',
          body: { passphrase },
        });
        headers['chantier-proof'] = proof.body.proof;
      }
      return sendHttp({ ...socketAndToken(), method, path, body, headers });
    },
    async until(what, probe, timeoutMs = 30_000) {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const found = await probe();
        if (found !== undefined && found !== false) return found;
        if (Date.now() > deadline) throw new Error(`timed out: ${what}\n${await lastEvents()}\n${logTail(home)}`);
        await new Promise((done) => setTimeout(done, 60));
      }
    },
    async dispose() {
      if (server && server.exitCode === null && server.signalCode === null) {
        const gone = new Promise((done) => server?.once('exit', done));
        await instance.cli(['down', '--stop-agents']).catch(() => undefined);
        const timer = setTimeout(() => server?.kill('SIGKILL'), 8_000);
        await gone;
        clearTimeout(timer);
      }
      for (const pid of processesOf(root)) endQuietly(pid);
      if (process.env.CHANTIER_E2E_KEEP) return console.log('kept', root);
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return instance;
}

async function succeed(sending: Promise<Answer>): Promise<void> {
  const { status, body } = await sending;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
}

async function startServer(instance: Instance, options: ServerOptions): Promise<ChildProcess> {
  const program = options.entry === undefined ? [entry, 'up', '--serve'] : [options.entry];
  const clock = ['--import', join(import.meta.dirname, 'movable-clock.mjs')];
  const child = spawn(
    node,
    ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4', ...clock, ...program],
    {
      ...options.user,
      env: { ...instance.env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
  );
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await instance.until('the server to be ready', async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${errors}`);
    const address = readAddress(instance.home);
    if (address?.pid !== child.pid || address === undefined) return false;
    return fetch(`${address.url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
  });
  return child;
}

async function runCli(
  env: NodeJS.ProcessEnv,
  root: string,
  passphrase: string,
  args: readonly string[],
  options: CliOptions,
): Promise<CliResult> {
  const end = args.indexOf('--');
  const [own, rest] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end)];
  const words = [...own, ...(options.proof ? ['--passphrase-fd', '3'] : []), '--json', ...rest];
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', entry, ...words], {
    env: { ...env, ...options.env },
    cwd: options.cwd ?? root,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    // No terminal of whoever runs the tests can be asked.
    detached: true,
  });
  const third = child.stdio[3] as NodeJS.WritableStream;
  third.on('error', () => {}); // a verb that reads no passphrase closes it
  third.end(options.proof ? `${passphrase}\n` : '');
  if (options.stdin !== undefined) child.stdin?.end(options.stdin);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)));
  return { code, stdout, stderr, json: parse(stdout) };
}

/** What a server that had to be killed left behind. */
function endQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

function readAddress(home: string): { url: string; pid: number } | undefined {
  const file = join(home, 'server.json');
  if (!existsSync(file)) return undefined;
  const { address, pid } = JSON.parse(readFileSync(file, 'utf8')) as { address: string; pid: number };
  return address === '' ? undefined : { url: address, pid };
}

function logTail(home: string): string {
  const file = join(home, 'logs', 'server.log');
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-4_000) : '(no log)';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
