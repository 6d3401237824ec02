import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestPostgres } from './testing-postgres.ts';

/** Stands between a store and the test server, and misbehaves where a test says so. */
export interface PostgresProxy {
  urlOf(database: string): string;
  /**
   * Breaks the connection at the next COMMIT: `before` it reaches the server (nothing is saved), or `after` (it is saved,
   * the answer is lost). Resolves when it has happened.
   */
  breakAtCommit(moment: 'before' | 'after'): Promise<void>;
  /** The server is away: every connection breaks and no new one comes about, until `restore`. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

/** Starts a proxy; with `swallowNotifications` it behaves as a pooler in transaction mode does with LISTEN. */
export async function startProxy(
  server: TestPostgres,
  options: { swallowNotifications?: boolean } = {},
): Promise<PostgresProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-proxy-'));
  const sockets = new Set<Socket>();
  let armed: { moment: 'before' | 'after'; happened: () => void } | undefined;

  let isCut = false;

  const listener = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = createConnection(join(server.folder, '.s.PGSQL.5432'));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    let muted = false;
    client.on('data', (data) => {
      if (armed && data.includes('commit\0')) {
        const { moment, happened } = armed;
        armed = undefined;
        muted = true;
        // The client learns nothing; the server finishes COMMIT before it notices that the connection has ended.
        if (moment === 'after') upstream.end(data);
        else upstream.destroy();
        upstream.once('close', () => {
          client.destroy();
          happened();
        });
        return;
      }
      upstream.write(data);
    });
    const filter = options.swallowNotifications ? withoutNotifications() : (data: Buffer) => data;
    upstream.on('data', (data) => {
      if (!muted) client.write(filter(data));
    });
    client.on('close', () => upstream.end());
    upstream.on('close', () => client.end());
  });
  await new Promise<void>((resolve) => listener.listen(join(folder, '.s.PGSQL.5432'), resolve));

  return {
    urlOf: (database) => `postgresql://chantier@/${database}?host=${encodeURIComponent(folder)}`,
    breakAtCommit: (moment) => new Promise((happened) => (armed = { moment, happened })),
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      isCut = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Drops NotificationResponse messages (`A`) from a stream of the server. */
function withoutNotifications(): (data: Buffer) => Buffer {
  let rest = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    const kept: Buffer[] = [];
    while (rest.length >= 5) {
      const length = 1 + rest.readUInt32BE(1);
      if (rest.length < length) break;
      if (rest[0] !== 'A'.charCodeAt(0)) kept.push(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    return Buffer.concat(kept);
  };
}
