import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';

import { getRequestListener } from '@hono/node-server';

import { Fault } from '../kernel/index.ts';
import type { DoorBindings } from './parts.ts';
import type { Api } from './route.ts';

/** How long requests that run may take to end when the server stops. */
const drainMs = 3000;

/** Connections at the agents' door; more are dropped, so that no sandbox can take the server's descriptors. */
export const maxBridgeConnections = 512;

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

/** Listens on a unix socket with `mode`; the caller holds the instance, so a socket that lies there is a dead one's. */
export async function listenOnSocket(
  api: Api,
  door: 'operator-socket' | 'bridge',
  path: string,
  mode: number,
): Promise<Listener> {
  rmSync(path, { force: true });
  const server = serverFor(api, { door, port: 0 });
  const before = process.umask(0o177);
  try {
    await listen(
      server,
      { path },
      (cause) => new Fault('cannot_listen', `Cannot listen on ${path}: ${cause.message}.`, { cause }),
    );
  } finally {
    process.umask(before);
  }
  chmodSync(path, mode);
  return {
    port: 0,
    async stop() {
      await stopServer(server);
      rmSync(path, { force: true });
    },
  };
}

function serverFor(api: Api, bindings: DoorBindings): Server {
  const listener = getRequestListener((request) => api.fetch(request, bindings), {
    overrideGlobalObjects: false,
    hostname: 'localhost',
  });
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 60_000 }, listener);
  server.maxHeadersCount = 100;
  if (bindings.door === 'bridge') server.maxConnections = maxBridgeConnections;
  return server;
}

function listen(
  server: Server,
  options: ListenOptions,
  faultOf: (cause: NodeJS.ErrnoException) => Fault,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(faultOf(cause)));
    server.listen(options, () => {
      server.removeAllListeners('error');
      server.on('error', () => {});
      resolve();
    });
  });
}

async function stopServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(cut);
}
