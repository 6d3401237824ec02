import { existsSync, readdirSync, watch } from 'node:fs';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { openDenialLog } from './denials.ts';
import { createHttpProxy } from './http-proxy.ts';
import { openWallSession, type WallSession } from './sessions.ts';
import { serveSocks, socksVersion } from './socks.ts';
import type { WallPaths } from './wall-paths.ts';

/** A client that says nothing for this long after it connected is let go. */
const firstByteTimeoutMs = 60_000;

/** Without a session for this long, the wall ends: its server is gone for good, or starts it again. */
const idleMs = 10 * 60_000;

export interface RunningWall {
  /** Ends all sessions and writes the counts. */
  stop(): void;
}

/**
 * Runs the wall in this process: one socket for each rules file in `paths.rules`, opened and closed as files come and go.
 * Calls `onUnneeded` when its folder is gone, which means that the instance was deleted, or when nobody was let out for long.
 */
export function serveWall(paths: WallPaths, onUnneeded: () => void, complain: (text: string) => void): RunningWall {
  const log = openDenialLog(paths.denials);
  const sessions = new Map<string, WallSession>();
  const owners = new WeakMap<Duplex, WallSession>();
  const http = createHttpProxy((socket) => owners.get(socket));
  const serve = (session: WallSession, client: Socket): void => {
    owners.set(client, session);
    chooseProtocol(client, {
      socks: () => void serveSocks(session, client),
      http: () => http.emit('connection', client),
    });
  };
  let lastNeeded = performance.now();
  const look = (): void => {
    if (!existsSync(paths.rules)) return onUnneeded();
    const named = new Set(readdirSync(paths.rules).flatMap((name) => /^(.+)\.json$/.exec(name)?.[1] ?? []));
    for (const [id, session] of sessions) {
      if (named.has(id)) {
        tryOrComplain(() => session.rules(), complain);
        continue;
      }
      session.close();
      sessions.delete(id);
    }
    for (const id of named) {
      if (!sessions.has(id))
        tryOrComplain(() => sessions.set(id, openWallSession(id, paths.rulesOf(id), log, serve)), complain);
    }
    if (sessions.size > 0) lastNeeded = performance.now();
    else if (performance.now() - lastNeeded > idleMs) onUnneeded();
  };
  look();
  const watcher = watch(paths.rules, look);
  watcher.on('error', () => {}); // the folder is gone; the timer finds that
  const timer = setInterval(look, 2_000);
  return {
    stop() {
      clearInterval(timer);
      watcher.close();
      for (const session of sessions.values()) session.close();
      log.flush();
    },
  };
}

/** Looks at the first byte, puts it back and hands the connection to the protocol it belongs to. */
function chooseProtocol(client: Socket, serve: { socks: () => void; http: () => void }): void {
  client.on('error', () => client.destroy());
  client.setTimeout(firstByteTimeoutMs, () => client.destroy());
  client.once('data', (chunk: Buffer) => {
    client.setTimeout(0);
    client.removeAllListeners('timeout');
    client.pause();
    client.unshift(chunk);
    if (chunk[0] === socksVersion) serve.socks();
    else serve.http();
    process.nextTick(() => client.resume());
  });
  client.once('end', () => {
    if (client.bytesRead === 0) client.destroy();
  });
}

function tryOrComplain(act: () => void, complain: (text: string) => void): void {
  try {
    act();
  } catch (error) {
    complain(String(error));
  }
}
