import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, onTestFinished, test, vi } from 'vitest';

import { newShortId } from '../../kernel/index.ts';
import { keepWall } from './keep-wall.ts';
import type { WallRule } from './rules.ts';
import { adoptWall, startWall } from './start-wall.ts';
import { type UpstreamProxy, upstreamFromEnvironment } from './upstream.ts';

/** One wall for the tests that leave it alone; those that end it start one of their own. */
const sharedBase = mkdtempSync(join(tmpdir(), 'wall-'));
const sharedFolder = join(sharedBase, 'state');
afterAll(async () => {
  await adoptWall(sharedFolder)?.stop();
  rmSync(sharedBase, { recursive: true, force: true });
});

async function setup({ ownWall = false } = {}) {
  const base = mkdtempSync(join(tmpdir(), 'wall-'));
  const folder = ownWall ? join(base, 'state') : sharedFolder;
  const prefix = newShortId<string>();
  const web = createHttpServer((incoming, outgoing) => {
    outgoing.setHeader('x-host', incoming.headers.host ?? '');
    outgoing.setHeader('x-proxy-header', String(incoming.headers['proxy-authorization'] ?? 'none'));
    incoming.pipe(outgoing);
    if (incoming.method === 'GET') outgoing.end(`web ${incoming.url}`);
  });
  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  for (const server of [web, echo]) await once(server.listen(0, '127.0.0.1'), 'listening');
  const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;
  const wall = await startWall({ folder });
  onTestFinished(async () => {
    if (ownWall) await adoptWall(folder)?.stop();
    web.closeAllConnections();
    for (const server of [web, echo]) server.close();
    rmSync(base, { recursive: true, force: true });
  });
  const rules: WallRule[] = [
    { host: 'web.test', ports: [80], address: `127.0.0.1:${portOf(web)}` },
    { host: 'echo.test', ports: [443], address: `127.0.0.1:${portOf(echo)}` },
    { host: 'localhost', ports: [80, 443, portOf(web)] },
  ];
  const idOf = (name: string): string => `${prefix}-${name}`;
  const admit = async (name: string, named: readonly WallRule[] = rules, upstream?: UpstreamProxy) => {
    const socketFolder = join(base, name);
    await wall.admit({ sessionId: idOf(name), socketFolder, rules: named, ...(upstream ? { upstream } : {}) });
    return join(socketFolder, 'sock');
  };
  const denials = () => wall.denials(idOf('s1'));
  return { base, folder, wall, rules, admit, denials, idOf, webPort: portOf(web) };
}

/** Sends raw bytes to the wall and returns what comes back until `until` matches or the wall ends the connection. */
async function say(path: string, text: string | Buffer, until: RegExp = /$^/): Promise<string> {
  const socket = connect(path);
  socket.on('error', () => {});
  socket.write(text);
  let got = '';
  for await (const chunk of socket) {
    got += (chunk as Buffer).toString('latin1');
    if (until.test(got)) break;
  }
  socket.destroy();
  return got;
}

async function openTunnel(path: string, authority = 'echo.test:443'): Promise<Socket> {
  const socket = connect(path);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
  return socket;
}

const connectTo = (authority: string): string => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const get = (target: string, host: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
const socks = (...rest: number[]): Buffer => Buffer.from([5, 1, 0, 5, 1, 0, ...rest]);
const socksName = (name: string, port: number): Buffer =>
  socks(3, name.length, ...Buffer.from(name), port >> 8, port & 255);

test('carries CONNECT, absolute HTTP and SOCKS5h to what the rules name (X-7)', async () => {
  const { admit } = await setup();
  const path = await admit('s1');
  const tunnel = await openTunnel(path);
  tunnel.write('over the wall');
  expect(String((await once(tunnel, 'data'))[0])).toBe('over the wall');
  tunnel.destroy();

  expect(await say(path, get('http://web.test/a?b=1', 'web.test'))).toMatch(/200 OK[^]*web \/a\?b=1/);
  expect(await say(path, Buffer.concat([socksName('echo.test', 443), Buffer.from('hello')]), /hello/)).toMatch(
    /hello$/,
  );
});

test('carries a body both ways and leaves out what belongs to the proxy (X-7)', async () => {
  const { admit } = await setup();
  const socketPath = await admit('s1');
  const headers = { host: 'web.test', 'proxy-authorization': 'Basic c2VjcmV0' };
  const post = request({ socketPath, path: 'http://web.test/', method: 'POST', headers });
  post.write('one ');
  post.end('two');
  const [response] = (await once(post, 'response')) as [import('node:http').IncomingMessage];
  expect(response.headers).toMatchObject({ 'x-host': 'web.test', 'x-proxy-header': 'none' });
  expect((await response.toArray()).join('')).toBe('one two');
});

test('refuses what the rules do not name, in every spelling, and counts it (X-7, sandbox attack 11)', async () => {
  const { admit, denials, webPort } = await setup();
  const path = await admit('s1');
  const forbidden = [
    connectTo('evil.test:443'),
    connectTo('echo.test:22'),
    connectTo('echo.test.evil.test:443'),
    connectTo('127.0.0.1:443'),
    connectTo('[::1]:443'),
    connectTo('2130706433:443'),
    connectTo('web.test@evil.test:443'),
    connectTo(`localhost:${webPort}`), // named, but it answers with an address of this machine
    get(`http://127.0.0.1:${webPort}/`, 'web.test'),
    get(`http://0x7f.1:${webPort}/`, 'web.test'),
    get(`http://web.test@127.0.0.1:${webPort}/`, 'web.test'),
    get(`http://web.test:80@evil.test/`, 'web.test'),
    get('http://user:password@web.test/', 'web.test'),
    get('http://evil.test/', 'web.test'), // the Host header has no say
    get('https://web.test/', 'web.test'),
    get('/', 'web.test'),
    get('ftp://web.test/', 'web.test'),
  ];
  for (const text of forbidden)
    expect(await say(path, text), text).toMatch(/^HTTP\/1.1 403 Forbidden[^]*The wall refused/);
  const address = [127, 0, 0, 1, webPort >> 8, webPort & 255];
  const refusedSocks = [socksName('evil.test', 443), socks(1, ...address), socksName('127.0.0.1', webPort)];
  for (const bytes of refusedSocks) expect((await say(path, bytes)).slice(2, 4)).toBe('\x05\x02');

  await vi.waitFor(() => expect(denials().reduce((sum, { count }) => sum + count, 0)).toBe(20));
  expect(denials()).toContainEqual(
    expect.objectContaining({ host: 'evil.test', port: 443, reason: 'host-not-named', count: 2 }),
  );
  expect(new Set(denials().map(({ reason }) => reason))).toEqual(
    new Set(['host-not-named', 'port-not-named', 'ip-literal', 'private-answer', 'userinfo', 'not-a-proxy-request']),
  );
});

test('without its rules the same requests reach the server: the rules are what holds (X-7)', async () => {
  const { admit, webPort } = await setup();
  const address = `127.0.0.1:${webPort}`;
  const open = { ports: [80, 443, webPort], address };
  const path = await admit('s1', [
    { host: '*', ...open },
    { host: '127.0.0.1', ...open },
  ]);
  expect(await say(path, get('http://evil.test/', 'web.test'))).toMatch(/200 OK/);
  expect(await say(path, get(`http://${address}/`, 'web.test'))).toMatch(/200 OK/);
  expect(await say(path, connectTo('evil.test:443'), /200/)).toMatch(/^HTTP\/1.1 200 /);
});

test('answers nonsense and goes on (X-7)', async () => {
  const { admit } = await setup();
  const path = await admit('s1');
  expect(await say(path, 'nonsense\r\n\r\n')).toMatch(/400 Bad Request/);
  expect(await say(path, Buffer.from([5, 1, 2]))).toBe('\x05\xff');
  expect(await say(path, Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]))).toMatch(/400|^$/);
  const upgrade =
    'GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  expect(await say(path, upgrade)).toMatch(/501 Not Implemented/);
  const smuggled =
    'POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
  expect(await say(path, smuggled)).toMatch(/400 Bad Request/);
  (await openTunnel(path)).destroy();
});

test('reads changed rules again and ends connections that they no longer name (X-7)', async () => {
  const { admit, rules } = await setup();
  const path = await admit('s1');
  const tunnel = await openTunnel(path);
  const ended = once(tunnel, 'close');
  tunnel.on('error', () => {});
  await admit(
    's1',
    rules.filter(({ host }) => host !== 'echo.test'),
  );
  await ended;
  expect(await say(path, connectTo('echo.test:443'))).toMatch(/403/);
  expect(await say(path, get('http://web.test/', 'web.test'))).toMatch(/200 OK/);
});

test('each session has its own socket and rules, and none after it was dismissed (X-7, sandbox attack 12)', async () => {
  const { admit, wall, idOf } = await setup();
  const one = await admit('s1');
  const two = await admit('s2', []);
  expect(await say(two, connectTo('echo.test:443'))).toMatch(/403/);
  const tunnel = await openTunnel(one);
  tunnel.on('error', () => {});
  const ended = once(tunnel, 'close');
  wall.dismiss(idOf('s1'));
  wall.dismiss(idOf('s1'));
  await ended;
  await vi.waitFor(() => expect(existsSync(one)).toBe(false));
  expect(await say(two, connectTo('echo.test:443'))).toMatch(/403/);
});

test('killed, it is restarted and the same sockets and counts work again (X-7)', async () => {
  const { admit, folder, wall } = await setup({ ownWall: true });
  const path = await admit('s1');
  await say(path, connectTo('evil.test:443'));
  await vi.waitFor(() => expect(wall.denials()).toHaveLength(1));
  const onRestarted = vi.fn();
  const keeper = keepWall({ folder, intervalMs: 20, onRestarted });
  await keeper.start();
  await keeper.start();
  process.kill(wall.pid, 'SIGKILL');
  await vi.waitFor(() => expect(onRestarted).toHaveBeenCalledTimes(1), { timeout: 5_000 });
  keeper.stop();
  expect(wall.isAlive()).toBe(false);
  (await openTunnel(path)).destroy();
  await say(path, connectTo('evil.test:443'));
  const again = await keeper.wall();
  await vi.waitFor(() => expect(again.denials()).toEqual([expect.objectContaining({ host: 'evil.test', count: 2 })]));
});

test('ended on purpose, it is not started again, whatever still asks for it (X-7)', async () => {
  const { admit, folder, idOf } = await setup({ ownWall: true });
  const path = await admit('s1');
  const keeper = keepWall({ folder, intervalMs: 10 });
  await keeper.start();
  await (await keeper.wall()).stop();
  (await keeper.wall()).dismiss(idOf('s1'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(adoptWall(folder)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
});

test('outlives a server that is killed with -9, and is adopted by the next (X-7)', async () => {
  const { base } = await setup();
  const folder = join(base, 'other');
  const source = `
    const { startWall } = await import(${JSON.stringify(new URL('./start-wall.ts', import.meta.url).href)});
    const wall = await startWall({ folder: process.argv[1] });
    process.stdout.write(String(wall.pid));
    setInterval(() => {}, 1000);`;
  const server = spawn(process.execPath, ['--input-type=module', '-e', source, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number((await once(server.stdout, 'data'))[0]);
  server.kill('SIGKILL');
  await once(server, 'exit');
  const adopted = await startWall({ folder });
  onTestFinished(() => adopted.stop());
  expect(adopted.pid).toBe(pid);
  await adopted.stop();
  expect(adoptWall(folder)).toBeUndefined();
});

test('goes through the proxy of the machine where there is one; only named hosts reach it (X-7)', async () => {
  const { admit, rules } = await setup();
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (head: Buffer) => {
      asked.push(head.toString());
      const isRefused = head.toString().startsWith('CONNECT closed.test');
      socket.write(isRefused ? 'HTTP/1.1 403 No\r\n\r\n' : 'HTTP/1.1 200 OK\r\n\r\nearly ');
      if (!isRefused) socket.pipe(socket);
    });
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void proxy.close());
  const upstream = upstreamFromEnvironment({
    HTTPS_PROXY: `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NO_PROXY: 'localhost,.near.test',
  })!;
  const named = [...rules, { host: 'far.test' }, { host: 'closed.test' }, { host: 'x.near.test' }];
  const path = await admit('s1', named, upstream);
  const tunnel = await openTunnel(path, 'far.test:443');
  tunnel.write('hello');
  expect(await say(path, Buffer.concat([socksName('far.test', 443), Buffer.from('hi')]), /hi/)).toMatch(/early hi$/);
  tunnel.destroy();
  expect(asked[0]).toBe(
    `CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\nProxy-Authorization: Basic ${btoa('me:secret')}\r\n\r\n`,
  );
  expect(await say(path, connectTo('closed.test:443'))).toMatch(/502 Bad Gateway[^]*refused closed.test/);
  expect(await say(path, connectTo('evil.test:443'))).toMatch(/403 Forbidden/);
  expect(await say(path, connectTo('x.near.test:443'))).toMatch(/502 Bad Gateway[^]*could not be resolved/);
  expect(asked).toHaveLength(3);
  (await openTunnel(path)).destroy();
});

test('ends by itself when its folder is gone, so that a deleted instance leaves nothing', async () => {
  const { folder, wall } = await setup({ ownWall: true });
  rmSync(folder, { recursive: true, force: true });
  await vi.waitFor(() => expect(wall.isAlive()).toBe(false), { timeout: 5_000 });
});

test('a socket path that is too long is refused with what to do', async () => {
  const { base, wall } = await setup();
  const socketFolder = join(base, 'x'.repeat(90));
  await expect(wall.admit({ sessionId: 's1', socketFolder, rules: [] })).rejects.toThrow(/use a shorter folder/);
});
