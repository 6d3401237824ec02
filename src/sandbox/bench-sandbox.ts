import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { giveToOwner } from './bubblewrap/owner.ts';
import { insidePids, killTree } from './end-processes.ts';
import { buildEnvironment } from './environment.ts';
import { createNoneSandbox } from './none-driver.ts';
import { openSandbox } from './open-sandbox.ts';
import type { Sandbox, SandboxProfile } from './profile.ts';
import { startWrapped } from './run-in-sandbox.ts';
import { startWall } from './wall/start-wall.ts';

/** Samples of one machine in one run, each kind beside the same thing without the sandbox. */
export interface SandboxFigures {
  /** From asking for a process to its end, ms. */
  startMs: { none: number[]; sandbox: number[]; withNetwork: number[] };
  /** Memory that a session's sandbox adds (proportional share of its processes), bytes. */
  addedBytes: { sandbox: number; withNetwork: number };
  /** 64 MiB through the command's stdin and stdout, MiB a second. */
  stdioMibPerSecond: { none: number; sandbox: number };
  /** To a server on this machine, ms: connection and first answer, and one round trip on a kept connection. */
  proxyMs: { direct: number[]; connect: number[]; keptDirect: number[]; keptTunnel: number[] };
}

const starts = 15;
const roundTrips = 300;
const stdioMib = 64;

/** Measures the barrier of this machine against none, in one run; `undefined` where there is no working sandbox. */
export async function benchSandbox(): Promise<SandboxFigures | undefined> {
  const { sandbox } = await openSandbox({ mode: 'auto' });
  if (!sandbox) return undefined;
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'chantier-bench-')));
  const wall = await startWall({ folder: join(base, 'wall') });
  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  try {
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    const port = (echo.address() as AddressInfo).port;
    const socketFolder = join(base, 's');
    const rules = [{ host: 'echo.test', address: `127.0.0.1:${port}` }];
    await wall.admit({ sessionId: 'bench', socketFolder, rules, ...(sandbox.owner ? { owner: sandbox.owner } : {}) });
    const offline = await makeProfile(sandbox, base);
    const online: SandboxProfile = { ...offline, network: { kind: 'wall', socketFolder } };
    const none = createNoneSandbox();
    const state = join(base, 'state');
    return {
      startMs: {
        none: await startTimes(none, offline, state),
        sandbox: await startTimes(sandbox, offline, state),
        withNetwork: await startTimes(sandbox, online, state),
      },
      addedBytes: {
        sandbox: await addedMemory(sandbox, offline, state),
        withNetwork: await addedMemory(sandbox, online, state),
      },
      stdioMibPerSecond: {
        none: await stdioRate(none, offline, state),
        sandbox: await stdioRate(sandbox, offline, state),
      },
      proxyMs: await proxyTimes(port, join(socketFolder, 'sock')),
    };
  } finally {
    echo.close();
    await wall.stop();
    rmSync(base, { recursive: true, force: true });
  }
}

async function makeProfile(sandbox: Sandbox, base: string): Promise<SandboxProfile> {
  const [work, home, state] = ['work', 'home', 'state'].map((name) => join(base, name)) as [string, string, string];
  for (const folder of [work, home, state]) mkdirSync(folder, { mode: 0o700 });
  await giveToOwner(sandbox.owner, [work, home]);
  return {
    kind: 'check',
    workFolder: work,
    workFolderAccess: 'read-write',
    home,
    readOnly: [],
    writable: [],
    socketFolders: [],
    env: buildEnvironment({ home }),
    cwd: '/',
    network: { kind: 'none' },
    limits: {},
  };
}

async function startTimes(sandbox: Sandbox, profile: SandboxProfile, state: string): Promise<number[]> {
  return timesOf(starts, async () => {
    const child = startWrapped(await sandbox.wrap(profile, ['/bin/true'], state));
    await once(child, 'exit');
  });
}

async function addedMemory(sandbox: Sandbox, profile: SandboxProfile, state: string): Promise<number> {
  const child = startWrapped(await sandbox.wrap(profile, ['/bin/sh', '-c', 'echo up; read wait'], state));
  await once(child.stdout!, 'data');
  const outer = child.pid!;
  const inside = insidePids(outer);
  const helpers = inside ? [outer, ...childrenOf(outer), ...childrenOf(inside.init)] : [];
  const bytes = helpers.filter((pid) => pid !== inside?.command).reduce((sum, pid) => sum + shareOf(pid), 0);
  killTree(outer);
  await once(child, 'close');
  return bytes;
}

async function stdioRate(sandbox: Sandbox, profile: SandboxProfile, state: string): Promise<number> {
  const child = startWrapped(await sandbox.wrap(profile, ['/bin/cat'], state));
  const closed = once(child, 'close');
  const started = performance.now();
  child.stdout!.resume();
  const chunk = Buffer.alloc(1024 ** 2);
  for (let sent = 0; sent < stdioMib; sent += 1) if (!child.stdin!.write(chunk)) await once(child.stdin!, 'drain');
  child.stdin!.end();
  await closed;
  return Math.round(stdioMib / ((performance.now() - started) / 1_000));
}

async function proxyTimes(port: number, path: string): Promise<SandboxFigures['proxyMs']> {
  const direct = (): Socket => connect({ port, host: '127.0.0.1', noDelay: true });
  const tunnel = async (): Promise<Socket> => {
    const socket = connect(path);
    socket.write('CONNECT echo.test:443 HTTP/1.1\r\nHost: echo.test:443\r\n\r\n');
    await once(socket, 'data');
    return socket;
  };
  const newConnection = async (open: () => Socket | Promise<Socket>): Promise<void> => {
    const socket = await open();
    await ping(socket);
    socket.destroy();
  };
  const kept = async (open: () => Socket | Promise<Socket>): Promise<number[]> => {
    const socket = await open();
    const times = await timesOf(roundTrips, () => ping(socket));
    socket.destroy();
    return times;
  };
  return {
    direct: await timesOf(roundTrips, () => newConnection(direct)),
    connect: await timesOf(roundTrips, () => newConnection(tunnel)),
    keptDirect: await kept(direct),
    keptTunnel: await kept(tunnel),
  };
}

async function ping(socket: Socket): Promise<void> {
  const answer = once(socket, 'data');
  socket.write('ping');
  await answer;
}

async function timesOf(times: number, act: () => Promise<void>): Promise<number[]> {
  const taken: number[] = [];
  for (let index = 0; index < times; index += 1) {
    const started = performance.now();
    await act();
    taken.push(performance.now() - started);
  }
  return taken;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}

function shareOf(pid: number): number {
  return 1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0);
}
