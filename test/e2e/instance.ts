import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The repository's own folder. */
export const packageFolder = resolve(import.meta.dirname, '../..');

const node = join(packageFolder, 'node_modules/node/bin/node');
const entry = join(packageFolder, 'src/cli/main.ts');

/** What a finished CLI call gave. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
  /** The one JSON document of `--json`; `undefined` when stdout is none. */
  json: any; // oxlint-disable-line typescript/no-explicit-any -- each test knows its document
}

/** A real instance in a fresh home: a server process of its own, driven by the CLI as a person would. */
export interface Instance {
  home: string;
  passphrase: string;
  env: NodeJS.ProcessEnv;
  /** Starts the server in the foreground of a child and waits until it is ready. */
  up(): Promise<ChildProcess>;
  /** Runs a verb with `--json`; `proof` hands the passphrase over by a file descriptor. */
  cli(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** As `cli`, and throws with its output unless it exits 0. */
  must(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** First run: operator and phase. */
  init(phase?: number): Promise<void>;
  /** Registers one of `examples/agents` or `test/agents`. */
  addAgent(codename: string, family: string, role: 'author' | 'reviewer', script: string): Promise<void>;
  /** Asks again until `probe` gives something; throws with the server's log after `timeoutMs`. */
  until<T>(what: string, probe: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
  /** Ends the server and every agent, removes the folders. */
  dispose(): Promise<void>;
}

export interface CliOptions {
  proof?: boolean;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
}

/** Makes an instance; nothing runs yet. */
export function createInstance(): Instance {
  const home = mkdtempSync(join(tmpdir(), 'che2e-'));
  const passphrase = `passphrase ${Math.random().toString(36).slice(2)}`;
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: join(home, 'operator'),
    LANG: 'C.UTF-8',
    CHANTIER_HOME: join(home, 'c'),
    CHANTIER_PORT: '0',
    CHANTIER_AUTOSTART: 'false',
  };
  let server: ChildProcess | undefined;

  const cli: Instance['cli'] = (args, options = {}) => runCli(env, passphrase, args, options);
  const must: Instance['must'] = async (args, options) => {
    const result = await cli(args, options);
    if (result.code !== 0)
      throw new Error(`chantier ${args.join(' ')} exited ${result.code}: ${result.stdout}${result.stderr}`);
    return result;
  };
  const until: Instance['until'] = async (what, probe, timeoutMs = 30_000) => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      if (Date.now() > deadline) throw new Error(`timed out: ${what}\n${logTail(home)}`);
      await new Promise((done) => setTimeout(done, 150));
    }
  };
  return {
    home,
    passphrase,
    env,
    cli,
    must,
    until,
    async up() {
      const child = spawn(node, ['--disable-warning=ExperimentalWarning', entry, 'up', '--serve'], {
        env: { ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      server = child;
      let errors = '';
      child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      await until('the server to be ready', async () => {
        if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${errors}`);
        const address = readAddress(home);
        return (
          address !== undefined &&
          (await fetch(`${address.url}/readyz`).then(
            (answer) => answer.ok && address.pid === child.pid,
            () => false,
          ))
        );
      });
      return child;
    },
    async init(phase = 3) {
      await must(['init', '--phase', String(phase)], { proof: true, cwd: home });
    },
    async addAgent(codename, family, role, script) {
      await must(['agent', 'add', codename, '--family', family, '--role', role], {
        proof: true,
        env: { ...env, CHANTIER_E2E_SCRIPT: script },
      });
    },
    async dispose() {
      await cli(['stop', '--all']).catch(() => undefined);
      if (server && server.exitCode === null) {
        const gone = new Promise((done) => server?.once('exit', done));
        await cli(['down', '--stop-agents']).catch(() => undefined);
        const timer = setTimeout(() => server?.kill('SIGKILL'), 5_000);
        await gone;
        clearTimeout(timer);
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function runCli(
  env: NodeJS.ProcessEnv,
  passphrase: string,
  args: readonly string[],
  options: CliOptions,
): Promise<CliResult> {
  const script = options.env?.CHANTIER_E2E_SCRIPT;
  const words = [
    ...args,
    ...(options.proof ? ['--passphrase-fd', '3'] : []),
    '--json',
    ...(script ? ['--', node, script] : []),
  ];
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', entry, ...words], {
    env: { ...env, ...options.env },
    cwd: options.cwd ?? packageFolder,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  (child.stdio[3] as NodeJS.WritableStream).end(options.proof ? `${passphrase}\n` : '');
  if (options.stdin !== undefined) child.stdin?.end(options.stdin);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)));
  return { code, stdout, stderr, json: parse(stdout) };
}

function readAddress(home: string): { url: string; pid: number } | undefined {
  const file = join(home, 'c', 'server.json');
  if (!existsSync(file)) return undefined;
  const { address, pid } = JSON.parse(readFileSync(file, 'utf8')) as { address: string; pid: number };
  return address === '' ? undefined : { url: address, pid };
}

function logTail(home: string): string {
  const file = join(home, 'c', 'logs', 'server.log');
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-4_000) : '(no log)';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
