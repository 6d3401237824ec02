import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';

import { getRequestListener } from '@hono/node-server';

import { Fault } from '../kernel/index.ts';
import { boundCalls } from './bound-calls.ts';
import type { DoorBindings } from './parts.ts';
import type { Api } from './route.ts';

/** How long requests that run may take to end when the server stops. */
const drainMs = 3000;

/** Connections at the door of one session; more are dropped, so that no sandbox can take the server's descriptors. */
export const maxBridgeConnections = 32;

/** One open door. */
export interface Listener {
  port: number;
  /** Takes no more requests, lets running ones end for 3 s, then cuts them. */
  stop(): Promise<void>;
}

/** Listens on TCP, 127.0.0.1 only. Throws `Fault` `port_taken`. */
export async function listenOnTcp(api: Api, port: number): Promise<Listener> {
  const bindings: DoorBindings = { door: 'tcp', port };
  const server = serverFor(api, bindings);
  await listen(server, { host: '127.0.0.1', port }, (cause) =>
    cause.code === 'EADDRINUSE'
      ? new Fault(
          'port_taken',
          `Port ${port} on 127.0.0.1 is taken by another program: choose another one with "chantier up --port N" or CHANTIER_PORT.`,
          { facts: { port }, cause },
        )
      : new Fault('cannot_listen', `Cannot listen on 127.0.0.1:${port}: ${cause.message}.`, { cause }),
  );
  bindings.port = (server.address() as AddressInfo).port;
  return { port: bindings.port, stop: () => stopServer(server) };
}

/**
 * Listens on a unix socket with `mode`; the caller holds the instance, so a socket that lies there is a dead one's. Requests at
 * an agents' door are bounded: `onFlood` hears of it, once a minute.
 */
export async function listenOnSocket(
  api: Api,
  bindings: Omit<DoorBindings, 'port'>,
  path: string,
  mode: number,
  onFlood: () => void = () => {},
): Promise<Listener> {
  rmSync(path, { force: true });
  const server = serverFor(api, { ...bindings, port: 0 }, onFlood);
  await listen(
    server,
    { path },
    (cause) => new Fault('cannot_listen', `Cannot listen on ${path}: ${cause.message}.`, { cause, retryable: true }),
  );
  chmodSync(path, mode);
  return {
    port: 0,
    async stop() {
      await stopServer(server);
      rmSync(path, { force: true });
    },
  };
}

function serverFor(api: Api, bindings: DoorBindings, onFlood: () => void = () => {}): Server {
  const isBridge = bindings.door === 'bridge';
  const answer = getRequestListener((request) => api.fetch(request, bindings), {
    overrideGlobalObjects: false,
    hostname: 'localhost',
  });
  const listener = isBridge ? boundCalls(answer, onFlood) : answer;
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 60_000 }, listener);
  server.maxHeadersCount = 100;
  if (isBridge) server.maxConnections = maxBridgeConnections;
  return server;
}

function listen(
  server: Server,
  options: ListenOptions,
  faultOf: (cause: NodeJS.ErrnoException) => Fault,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(faultOf(cause)));
    // A socket is made within the call; until its mode is set nobody else may connect. Doors open at the same time.
    const before = process.umask(0o177);
    server.listen(options, () => {
      server.removeAllListeners('error');
      server.on('error', () => {});
      resolve();
    });
    process.umask(before);
  });
}

async function stopServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(cut);
}
