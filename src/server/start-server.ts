import { join } from 'node:path';

import type { Logger } from 'pino';

import type { Access, App } from '../app/index.ts';
import { ensureRunFolder, type InstancePaths, operatorSocketOf } from '../config/index.ts';
import type { ServedDoors } from './agent-doors.ts';
import { buildApi } from './api.ts';
import { serveConsoleFrom } from './console-files.ts';
import { startPeersDoor } from './peers/peers-door.ts';
import { type Listener, listenOnSocket, listenOnTcp } from './listen.ts';

/** What a server is started with. The caller holds the instance (`acquireInstanceLock` of the store). */
export interface StartServerOptions {
  app: App;
  access: Access;
  paths: InstancePaths;
  /** The agents' doors; the app opens and closes them. */
  doors: ServedDoors;
  version: string;
  log: Logger;
  /** TCP port on 127.0.0.1; 0 takes a free one. */
  port: number;
  /** Folder of the built console; without one only the API is served. */
  consoleFolder?: string;
  /** Tells the others where we are, once every door is open: `announce` of the instance lock. */
  announce: (url: string) => void;
  /** Called once when someone asks the server to end (`chantier down`). */
  onShutdown: () => void;
}

/** A server that listens on its doors. */
export interface RunningServer {
  url: string;
  port: number;
  /** The operator CLI's socket. */
  socket: string;
  /** Ends streams, lets running requests end, closes the doors. Safe twice. */
  stop(): Promise<void>;
}

/** Opens TCP, the operator's socket and the agents' doors, then announces the address. Throws `Fault` `port_taken`. */
export async function startServer(options: StartServerOptions): Promise<RunningServer> {
  const { app, access, paths, doors, version, log } = options;
  const stopping = new AbortController();
  let shutdownAsked = false;
  const onShutdown = (): void => {
    if (shutdownAsked) return;
    shutdownAsked = true;
    options.onShutdown();
  };
  const serveConsole = options.consoleFolder === undefined ? undefined : serveConsoleFrom(options.consoleFolder);
  const api = buildApi({ app, access, version, log, onShutdown, stopping: stopping.signal }, serveConsole);

  const socket = operatorSocketOf(paths.home) ?? join(ensureRunFolder(paths.home), 'sock');
  const listeners: Listener[] = [];
  try {
    listeners.push(await listenOnTcp(api, options.port));
    listeners.push(await listenOnSocket(api, { door: 'operator-socket' }, socket, 0o600));
    await doors.serve(api, (sessionId) => {
      tellOfFlood(access, sessionId).catch((error: unknown) => log.error({ err: error }, 'a flood was not recorded'));
    });
  } catch (error) {
    await Promise.all([doors.stop(), ...listeners.map((listener) => listener.stop())]);
    throw error;
  }
  const { port } = listeners[0]!;
  const url = `http://127.0.0.1:${port}`;
  const peersDoor = await startPeersDoor(app.peers, log);
  options.announce(url);

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([peersDoor.stop(), doors.stop(), ...listeners.map((listener) => listener.stop())]);
  };
  return { url, port, socket, stop: () => (stopped ??= stop()) };
}

/** The event that a session calls its door without end; whose tokens it shows is not looked up. */
async function tellOfFlood(access: Access, sessionId: string | undefined): Promise<void> {
  const identity = await access.identify({ door: 'bridge' });
  await access.recordRefusal({
    identity,
    door: 'bridge',
    doorSession: sessionId,
    route: 'any',
    code: 'too_many_calls',
  });
}
