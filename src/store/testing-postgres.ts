import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client, Pool } from 'pg';

/** A PostgreSQL server of this test process alone, in a temporary folder on a unix socket. */
export interface TestPostgres {
  /** Where the data, the log and the socket are. */
  folder: string;
  /** The connection URL of one of its databases; the user may do everything. */
  urlOf(database: string): string;
  /** Makes a database with a fresh name, as a copy of `template` (default: an empty one); gives its name. */
  createDatabase(template?: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Kills the server (`SIGKILL` by default, as a crash does) and waits until it is gone. */
  kill(signal?: 'SIGKILL' | 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Starts it again on the same data; resolves when it takes connections. */
  start(): Promise<void>;
  /** Ends it and removes the folder; the end of the process does the same, however it comes. */
  stop(): Promise<void>;
}

/**
 * Why PostgreSQL cannot run here, or `undefined` when it can. Where it is missing, apt is tried when `CI=true` or
 * `CHANTIER_TEST_INSTALL=1` (design section 10).
 */
export function postgresMissing(): string | undefined {
  if (binaries() === undefined && mayInstall()) {
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'postgresql']])
      spawnSync('apt-get', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  }
  if (binaries() === undefined) return 'no PostgreSQL 15 or newer is installed (apt-get install postgresql)';
  if (process.getuid?.() === 0 && userToRunAs() === undefined)
    return 'running as root, and there is no user to run it as';
  return undefined;
}

function mayInstall(): boolean {
  return process.env.CI === 'true' || process.env.CHANTIER_TEST_INSTALL === '1';
}

function binaries(): string | undefined {
  const root = '/usr/lib/postgresql';
  const packaged = existsSync(root)
    ? readdirSync(root)
        .filter((version) => Number(version) >= 15)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(root, version, 'bin'))
    : [];
  return [...packaged, ...(process.env.PATH ?? '').split(':')].find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
}

/** PostgreSQL refuses to run as root. */
function userToRunAs(): { uid: number; gid: number } | undefined {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  return user && { uid: Number(user[2]), gid: Number(user[3]) };
}

const testSettings = {
  listen_addresses: '',
  max_connections: '200',
  shared_buffers: '32MB',
  deadlock_timeout: '100ms',
  // In the data folder, where it goes with it even after a crash.
  dynamic_shared_memory_type: 'mmap',
};

/** Makes and starts a server. Options in `settings` are given to it as `-c name=value`. */
export async function startPostgres(settings: Record<string, string> = {}): Promise<TestPostgres> {
  const bin = binaries();
  if (bin === undefined) throw new Error(`PostgreSQL cannot be started: ${postgresMissing()}`);
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'chantier-pg-'));
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const user = process.getuid?.() === 0 ? userToRunAs() : undefined;
  if (user) {
    chmodSync(folder, 0o700);
    for (const path of [folder, data]) chownSync(path, user.uid, user.gid);
  }
  const asUser = user
    ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--inh-caps=-all', '--']
    : [];
  // Sorted unlike "C" on purpose: a comparison that forgot its collation shows.
  const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en'];
  const cluster = ['-D', data, '-U', 'chantier', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'];
  runAs(asUser, [join(bin, 'initdb'), ...cluster, ...locale]);
  const options = { ...testSettings, ...settings };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [...asUser, join(bin, 'postgres'), '-D', data, '-k', folder, ...flags];
  return new ServerOf(folder, command).started();
}

function runAs(prefix: string[], command: string[]): void {
  const [file = '', ...args] = [...prefix, ...command];
  execFileSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', env: { ...process.env, LC_ALL: 'C' } });
}

/** The processes that `pid` has started: a server that crashes as a machine does leaves none of them behind. */
function childrenOf(pid: number): number[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => {
      try {
        const stat = readFileSync(`/proc/${other}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
      } catch {
        return false;
      }
    });
}

function killIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

/**
 * Runs the server and removes the folder when its standard input ends: which is when the test process is gone, however
 * that happened. `$0` is the folder.
 */
const guard = `
"$@" >>"$0/log" 2>&1 </dev/null & server=$!
echo $server
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server
[ -e "$0/keep" ] || rm -rf "$0"`;

class ServerOf implements TestPostgres {
  readonly folder: string;
  private readonly command: string[];
  private guardProcess: ChildProcess | undefined;
  private pid = 0;
  private admin: Pool | undefined;
  private names = 0;

  constructor(folder: string, command: string[]) {
    this.folder = folder;
    this.command = command;
  }

  async started(): Promise<this> {
    await this.start();
    return this;
  }

  urlOf(database: string): string {
    return `postgresql://chantier@/${database}?host=${encodeURIComponent(this.folder)}`;
  }

  async start(): Promise<void> {
    const child = spawn('sh', ['-c', guard, this.folder, ...this.command], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
    });
    this.guardProcess = child;
    this.pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.stdout?.once('data', (line: Buffer) => resolve(Number(line.toString())));
    });
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
    await this.takesConnections();
    this.admin ??= new Pool({ connectionString: this.urlOf('postgres'), max: 2, allowExitOnIdle: true });
    this.admin.on('error', () => {});
  }

  async createDatabase(template = 'template0'): Promise<string> {
    const name = `t${++this.names}`;
    await this.admin?.query(`create database ${name} template ${template}`);
    return name;
  }

  async dropDatabase(name: string): Promise<void> {
    await this.admin?.query(`drop database if exists ${name} with (force)`);
  }

  async kill(signal: 'SIGKILL' | 'SIGINT' | 'SIGQUIT' = 'SIGKILL'): Promise<void> {
    const child = this.guardProcess;
    if (!child) return;
    this.guardProcess = undefined;
    execFileSync('touch', [join(this.folder, 'keep')]);
    child.ref();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const family = signal === 'SIGKILL' ? [this.pid, ...childrenOf(this.pid)] : [this.pid];
    for (const pid of family) killIfThere(pid, signal);
    child.stdin?.end();
    await ended;
    execFileSync('rm', [join(this.folder, 'keep')]);
  }

  async stop(): Promise<void> {
    await this.admin?.end();
    this.admin = undefined;
    if (this.guardProcess) await this.kill('SIGQUIT');
    execFileSync('rm', ['-rf', this.folder]);
  }

  private async takesConnections(): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += 20) {
      const client = new Client({ connectionString: this.urlOf('postgres') });
      client.on('error', () => {});
      const error = await client.connect().then(
        () => undefined,
        (reason: Error) => reason,
      );
      await client.end().catch(() => {});
      if (!error) return;
      if (waitedMs > 30_000)
        throw new Error(`PostgreSQL did not start: ${readFileSync(join(this.folder, 'log'), 'utf8')}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
