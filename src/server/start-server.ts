import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Logger } from 'pino';

import type { Access, App } from '../app/index.ts';
import { ensureRunFolder, type InstancePaths, operatorSocketOf } from '../config/index.ts';
import { buildApi } from './api.ts';
import { serveConsoleFrom } from './console-files.ts';
import { startPeersDoor } from './peers/peers-door.ts';
import { type Listener, listenOnSocket, listenOnTcp } from './listen.ts';

/** What a server is started with. The caller holds the instance (`acquireInstanceLock` of the store). */
export interface StartServerOptions {
  app: App;
  access: Access;
  paths: InstancePaths;
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

/** A server that listens on its three doors. */
export interface RunningServer {
  url: string;
  port: number;
  /** The operator CLI's socket. */
  socket: string;
  /** Folder with the agents' bridge socket (`sock`), to be bound into sandboxes at `/run/chantier/bridge`. */
  bridgeFolder: string;
  /** Ends streams, lets running requests end, closes the doors. Safe twice. */
  stop(): Promise<void>;
}

/** Folder of the agents' bridge below the run folder; known before the server starts. */
export function bridgeFolderOf(paths: InstancePaths): string {
  const folder = join(ensureRunFolder(paths.home), 'bridge');
  // Others may pass: inside a sandbox the agent is another user. The run folder above lets nobody in from outside.
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return folder;
}

/** Opens TCP, the operator's socket and the agents' bridge, then announces the address. Throws `Fault` `port_taken`. */
export async function startServer(options: StartServerOptions): Promise<RunningServer> {
  const { app, access, paths, version, log } = options;
  const stopping = new AbortController();
  let shutdownAsked = false;
  const onShutdown = (): void => {
    if (shutdownAsked) return;
    shutdownAsked = true;
    options.onShutdown();
  };
  const serveConsole = options.consoleFolder === undefined ? undefined : serveConsoleFrom(options.consoleFolder);
  const api = buildApi({ app, access, version, log, onShutdown, stopping: stopping.signal }, serveConsole);

  const bridgeFolder = bridgeFolderOf(paths);
  const socket = operatorSocketOf(paths.home) ?? join(ensureRunFolder(paths.home), 'sock');
  const listeners: Listener[] = [];
  try {
    listeners.push(await listenOnTcp(api, options.port));
    listeners.push(await listenOnSocket(api, 'operator-socket', socket, 0o600));
    // Every sandbox user has to reach it; each request needs a session's token.
    listeners.push(await listenOnSocket(api, 'bridge', join(bridgeFolder, 'sock'), 0o666));
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.stop()));
    throw error;
  }
  const { port } = listeners[0]!;
  const url = `http://127.0.0.1:${port}`;
  const peersDoor = await startPeersDoor(app.peers, log);
  options.announce(url);

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([peersDoor.stop(), ...listeners.map((listener) => listener.stop())]);
  };
  return { url, port, socket, bridgeFolder, stop: () => (stopped ??= stop()) };
}
