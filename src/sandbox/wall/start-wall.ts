import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Fault } from '../../kernel/index.ts';
import { readDenials, type WallDenial } from './denials.ts';
import { isAlive, type ProcessIdentity } from './identity.ts';
import type { WallRule } from './rules.ts';
import type { SessionRules } from './sessions.ts';
import { type UpstreamProxy, upstreamFromEnvironment } from './upstream.ts';
import { wallPaths } from './wall-paths.ts';

export interface WallOptions {
  /** Private folder of this instance's wall, outside every sandbox. Made when missing. */
  folder: string;
  /** Program and arguments that run the wall; the folder is added. Default: this Node on the file beside this one. */
  program?: readonly string[];
}

/** Lets one session out to what its rules name. */
export interface Admission {
  sessionId: string;
  /** Made when missing; bound into the sandbox as its `network.socketFolder`. Its path is shorter than 90 bytes. */
  socketFolder: string;
  rules: readonly WallRule[];
  /** `sandbox.owner`: who connects, for a root server. */
  owner?: { uid: number; gid: number };
  /** The machine's own proxy. Default: what HTTPS_PROXY and NO_PROXY of the server say. */
  upstream?: UpstreamProxy;
}

/** A running wall. It outlives this object and the server. */
export interface Wall {
  readonly pid: number;
  isAlive(): boolean;
  /** Whether any session is let out. */
  hasSessions(): boolean;
  /** Opens the socket of a session, or changes its rules; connections that are no longer named end. Resolves once it listens. */
  admit(admission: Admission): Promise<void>;
  /** Ends all connections of a session and removes its socket. Safe twice. */
  dismiss(sessionId: string): void;
  /** Counted denials, of one session or all, newest first; about 200 ms late. */
  denials(sessionId?: string): WallDenial[];
  /** Ends the wall itself (`down --stop-agents`); every session loses its network. */
  stop(): Promise<void>;
}

const startTimeoutMs = 10_000;
const maxSocketPathBytes = 100;

/** Adopts the wall of `folder` when one lives, else starts one, detached; sessions admitted before have their network again. */
export async function startWall(options: WallOptions): Promise<Wall> {
  const adopted = adoptWall(options.folder);
  if (adopted) return adopted;
  mkdirSync(wallPaths(options.folder).rules, { recursive: true, mode: 0o700 });
  const [program, ...args] = options.program ?? [process.execPath, ownEntry()];
  const child = spawn(program!, [...args, options.folder], {
    detached: true,
    cwd: '/',
    env: proxyFreeEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string): void =>
      reject(
        new Fault('wall_not_started', `The wall could not be started: ${why}. Look at ${options.folder}/wall.log.`),
      );
    const timer = setTimeout(() => fail(`not ready after ${startTimeoutMs} ms`), startTimeoutMs);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`it ended with ${code}`));
    child.stdout.once('data', () => resolve());
    child.stdout.once('data', () => clearTimeout(timer));
  });
  child.stdout.destroy();
  child.unref();
  const started = adoptWall(options.folder);
  if (!started)
    throw new Fault('wall_not_started', `The wall of ${options.folder} ended at once.`, { retryable: true });
  return started;
}

/** The living wall of `folder`, or `undefined`. */
export function adoptWall(folder: string): Wall | undefined {
  const identity = readIdentity(wallPaths(folder).identity);
  return identity && isAlive(identity) ? wallOf(folder, identity) : undefined;
}

function wallOf(folder: string, identity: ProcessIdentity): Wall {
  const paths = wallPaths(folder);
  return {
    pid: identity.pid,
    isAlive: () => isAlive(identity),
    hasSessions: () => existsSync(paths.rules) && readdirSync(paths.rules).some((name) => name.endsWith('.json')),
    async admit({ sessionId, socketFolder, rules, owner, upstream = upstreamFromEnvironment() }) {
      if (!/^[A-Za-z0-9._-]{1,128}$/.test(sessionId)) throw new Error(`"${sessionId}" cannot name a session's rules`);
      const socket = join(socketFolder, 'sock');
      if (Buffer.byteLength(socket) >= maxSocketPathBytes)
        throw new Fault('socket_path_too_long', `${socket} is too long for a unix socket; use a shorter folder.`);
      await mkdir(socketFolder, { recursive: true, mode: 0o700 });
      if (owner) await chmod(socketFolder, 0o711); // the sandbox's user passes through, and finds the socket alone
      const optional = { ...(owner ? { owner } : {}), ...(upstream ? { upstream } : {}) };
      const content: SessionRules = { version: 1, socketFolder, rules, ...optional };
      const path = paths.rulesOf(sessionId);
      await writeFile(`${path}.new`, JSON.stringify(content), { mode: 0o600 });
      await rename(`${path}.new`, path);
      await untilListening(socket);
    },
    dismiss: (sessionId) => rmSync(paths.rulesOf(sessionId), { force: true }),
    denials(sessionId) {
      const all = readDenials(paths.denials);
      return sessionId === undefined ? all : all.filter((denial) => denial.sessionId === sessionId);
    },
    async stop() {
      if (isAlive(identity)) process.kill(identity.pid, 'SIGTERM');
      for (let tries = 0; isAlive(identity) && tries < 200; tries += 1) await pause(10);
      if (isAlive(identity)) process.kill(identity.pid, 'SIGKILL');
    },
  };
}

/** Beside this file: `main.ts` in a checkout, `wall.js` in the bundle. */
function ownEntry(): string {
  const name = import.meta.url.endsWith('.ts') ? './main.ts' : './wall.js';
  return fileURLToPath(new URL(name, import.meta.url));
}

/** The wall resolves and connects by itself; nothing of the server's secrets goes along. */
function proxyFreeEnvironment(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' };
}

async function untilListening(path: string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await answers(path)) return;
    await pause(10);
  }
  throw new Fault('wall_not_listening', `The wall does not listen on ${path}; look at its log.`, { retryable: true });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
