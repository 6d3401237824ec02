import { lchownSync, chmodSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

import type { DenialLog } from './denials.ts';
import { type DenialReason, judgeTarget, type WallRule } from './rules.ts';
import type { UpstreamProxy } from './upstream.ts';

/** What a rules file says of one session; written by the server, read by the wall. */
export interface SessionRules {
  version: 1;
  /** Holds the socket `sock`; made by the server, bound into the sandbox. */
  socketFolder: string;
  /** Who may connect, where it is not the wall's own user. */
  owner?: { uid: number; gid: number };
  rules: readonly WallRule[];
  /** The machine's own proxy, where it has no direct way out. It resolves the names, so private answers are its to refuse. */
  upstream?: UpstreamProxy;
}

/** One session as the proxies see it. */
export interface WallSession {
  id: string;
  /** The rules as the file has them now. */
  rules(): readonly WallRule[];
  upstream(): UpstreamProxy | undefined;
  denied(target: { host: string; port: number }, reason: DenialReason): void;
  /** Remembers a connection, so that it ends with its rule. */
  track(socket: Socket, target: { host: string; port: number }): void;
  /** Stops listening and ends all connections. */
  close(): void;
}

/** Connections of one session at the same time. */
const maxConnections = 512;

/**
 * Listens on the socket of the session whose rules stand in `rulesPath`, and hands each connection to `serve`. A socket that
 * a killed wall left behind is replaced, so the folder bound into living sandboxes works again. Throws when the file is torn.
 */
export function openWallSession(
  id: string,
  rulesPath: string,
  log: DenialLog,
  serve: (session: WallSession, client: Socket) => void,
): WallSession {
  let current = readRules(rulesPath);
  let stamp = stampOf(rulesPath);
  const clients = new Set<Socket>();
  const open = new Map<Socket, { host: string; port: number }>();
  const refresh = (): void => {
    const next = stampOf(rulesPath);
    if (next === stamp) return;
    current = readRules(rulesPath);
    stamp = next;
    for (const [socket, { host, port }] of open) if (!judgeTarget(current.rules, host, port).allowed) socket.destroy();
  };
  const session: WallSession = {
    id,
    rules() {
      refresh();
      return current.rules;
    },
    upstream: () => current.upstream,
    denied: (target, reason) => log.record(id, target, reason),
    track(socket, target) {
      open.set(socket, target);
      socket.once('close', () => open.delete(socket));
    },
    close() {
      server.close();
      for (const socket of [...clients, ...open.keys()]) socket.destroy();
    },
  };
  const server = listen(current, (client) => {
    if (clients.size >= maxConnections) {
      session.denied({ host: '(any)', port: 0 }, 'too-many-connections');
      client.destroy();
      return;
    }
    clients.add(client);
    client.once('close', () => clients.delete(client));
    serve(session, client);
  });
  return session;
}

function listen(rules: SessionRules, onClient: (client: Socket) => void): Server {
  const path = join(rules.socketFolder, 'sock');
  try {
    unlinkSync(path);
  } catch {
    // the first time there is none
  }
  const server = createServer({ allowHalfOpen: true }, onClient);
  server.listen(path, () => {
    chmodSync(path, 0o600);
    if (rules.owner && process.getuid?.() === 0) lchownSync(path, rules.owner.uid, rules.owner.gid);
  });
  // The folder was taken away under us: the session is over, its rules file will follow.
  server.on('error', () => server.close());
  return server;
}

function readRules(path: string): SessionRules {
  const parsed = JSON.parse(readFileSync(path, 'utf8')) as SessionRules;
  if (parsed.version !== 1 || !Array.isArray(parsed.rules)) throw new Error(`${path} holds no rules of version 1`);
  return parsed;
}

function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? `${found.ino} ${found.mtimeNs}` : '';
}
