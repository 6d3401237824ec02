import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';
import { onTestFinished } from 'vitest';

import type { AppContext } from '../../src/app/index.ts';
import { settingsTopic } from '../../src/app/instance/change-setting.ts';
import { peersUseCases } from '../../src/app/peers/use-cases.ts';
import { loadConfig, pathsOf, type SettingValue } from '../../src/config/index.ts';
import { startPeersDoor } from '../../src/server/peers/peers-door.ts';
import { sessionWorld } from '../../src/sessions/testing.ts';
import { openTestSqlite } from '../../src/store/testing.ts';

/** The claude-peers port over a real store, with sessions of ours behind it. */
export async function openPeersWorld(settings: Record<string, SettingValue> = {}) {
  const { store, clock } = await openTestSqlite();
  const folder = mkdtempSync(join(tmpdir(), 'chantier-peers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const world = sessionWorld(store);
  const config = loadConfig({ env: {} });
  const given = new Map<string, SettingValue>(Object.entries(settings));
  if (!given.has('sessions.peersPort')) given.set('sessions.peersPort', await freePort());
  config.setStored(given);
  const paths = pathsOf(folder);
  const peers = peersUseCases({ store, sessions: world.ctx, config, paths } as unknown as AppContext);
  const door = await startPeersDoor(peers, pino({ level: 'silent' }));
  onTestFinished(() => door.stop());
  return {
    ...world,
    clock,
    door,
    paths,
    async change(name: string, value: SettingValue): Promise<void> {
      given.set(name, value);
      config.setStored(given);
      await store.tx(async (tx) => tx.wake(settingsTopic));
    },
    client: (headers: Record<string, string> = {}) => peersClient(() => door.port() ?? 0, headers),
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A client as the claude-peers tool server is one: HTTP and JSON, nothing of ours. */
export function peersClient(port: () => number, headers: Record<string, string> = {}) {
  const send = (method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
      const options = { host: '127.0.0.1', port: port(), method, path, headers: { ...headers } };
      const sending = request(options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = answer.headers['content-type'] === 'application/json';
          resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text });
        });
      });
      sending.on('error', reject);
      sending.end(bytes);
    });
  const post = async <T>(path: string, body: unknown): Promise<T> => (await send('POST', path, body)).body as T;
  return {
    send,
    post,
    async register(options: { pid?: number; cwd?: string; git_root?: string | null; summary?: string } = {}) {
      const me = { pid: process.pid, cwd: '/work', git_root: null, tty: null, summary: '', ...options };
      return (await post<{ id: string }>('/register', me)).id;
    },
    say: (from_id: string, to_id: string, text: string) =>
      post<{ ok: boolean; error?: string }>('/send-message', { from_id, to_id, text }),
    poll: async (id: string) => (await post<{ messages: PeerMessage[] }>('/poll-messages', { id })).messages,
    peek: async (id: string) => (await post<{ messages: PeerMessage[] }>('/peek-messages', { id })).messages,
    list: (query: object = {}) =>
      post<{ id: string; summary: string; cwd: string }[]>('/list-peers', {
        scope: 'machine',
        cwd: '/work',
        git_root: null,
        ...query,
      }),
  };
}

interface PeerMessage {
  id: number;
  from_id: string;
  to_id: string;
  text: string;
  sent_at: string;
  delivered: number;
}

/** A process that lives until it is told to end, or the test is over. */
export function longProcess(): { pid: number; end(): Promise<void> } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(end);
  return { pid: child.pid!, end };
}

/** A process whose parent has ended: what the tool server of a closed agent becomes. Gives it once `orphan` was called. */
export async function processWithParent(): Promise<{ pid: number; orphan(): Promise<void> }> {
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; wait'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const line = await new Promise<string>((resolve) => parent.stdout.once('data', (data) => resolve(String(data))));
  const pid = Number(line.trim());
  const ended = new Promise<void>((resolve) => parent.once('exit', () => resolve()));
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {}
  });
  return {
    pid,
    async orphan() {
      parent.kill('SIGKILL');
      await ended;
    },
  };
}
