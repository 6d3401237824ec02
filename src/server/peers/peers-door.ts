import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Logger } from 'pino';

import type { PeersUseCases } from '../../app/index.ts';
import { answerPeers, writeAnswer } from './answer-peers.ts';

/** Waits before the tries to open a port that another program holds, ms (S-50); the last one repeats. */
const retryWaitsMs = [1_000, 2_000, 4_000, 8_000, 10_000];
/** How often clients that have gone are looked for, ms. */
const tidyEveryMs = 30_000;
const maxConnections = 128;

/** The claude-peers port of this node; a service, `stop` safe twice. */
export interface PeersDoor {
  /** The port it is open at now; undefined while it is closed. */
  port(): number | undefined;
  stop(): Promise<void>;
}

interface Wanted {
  port: number;
  token: string | undefined;
}

/**
 * Opens the port where the settings want it, follows them when they change, and tries again while another program holds it: a
 * port that cannot be opened is an outage of that port, said in the log, and holds up nothing else.
 */
export async function startPeersDoor(peers: PeersUseCases, log: Logger): Promise<PeersDoor> {
  let open: { server: Server; wanted: Wanted } | undefined;
  let hasFailed = false;
  let retry: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();
  let stopped = false;

  const note = (what: Parameters<PeersUseCases['note']>[0]): Promise<void> =>
    peers.note(what).catch((error: unknown) => log.error({ err: error }, 'claude-peers port'));

  async function follow(attempt: number): Promise<void> {
    clearTimeout(retry);
    const wanted = stopped ? { port: 0, token: undefined } : peers.wanted();
    if (open && (open.wanted.port !== wanted.port || open.wanted.token !== wanted.token)) {
      await close(open.server);
      open = undefined;
      if (wanted.port === 0 && !stopped) await note({ kind: 'closed' });
    }
    if (open || wanted.port === 0) return;
    try {
      const server = await listen(peers, wanted, log);
      open = { server, wanted };
      hasFailed = false;
      await note({ kind: 'opened', port: (server.address() as AddressInfo).port });
    } catch (error) {
      log.warn({ err: error, port: wanted.port }, 'the claude-peers port cannot be opened');
      if (!hasFailed) await note({ kind: 'failed', code: String((error as NodeJS.ErrnoException).code ?? 'unknown') });
      hasFailed = true;
      retry = setTimeout(() => queue(attempt + 1), retryWaitsMs[Math.min(attempt, retryWaitsMs.length - 1)]).unref();
    }
  }

  /** One change after another. */
  function queue(attempt: number): Promise<void> {
    return (turn = turn.then(() => follow(attempt)).catch((error: unknown) => log.error({ err: error }, 'peers port')));
  }

  const off = peers.onSettings(() => void queue(0));
  const tidying = setInterval(() => {
    if (open) peers.tidy().catch((error: unknown) => log.error({ err: error }, 'claude-peers port'));
  }, tidyEveryMs).unref();
  await queue(0);
  return {
    port: () => (open?.server.address() as AddressInfo | undefined)?.port,
    async stop() {
      stopped = true;
      off();
      clearInterval(tidying);
      await queue(0);
    },
  };
}

function listen(peers: PeersUseCases, wanted: Wanted, log: Logger): Promise<Server> {
  const answer = answerPeers(peers, wanted.token);
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 10_000, headersTimeout: 10_000 });
  server.maxHeadersCount = 50;
  server.maxConnections = maxConnections;
  server.on('request', (request, response) => {
    answer(request, (server.address() as AddressInfo).port)
      .then((given) => writeAnswer(response, given))
      .catch((error: unknown) => {
        if (response.writableEnded || response.destroyed) return;
        log.error({ err: error }, 'a request at the claude-peers port failed');
        writeAnswer(response, { status: 500, body: { error: 'unexpected' } });
      });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: wanted.port }, () => {
      server.removeListener('error', reject);
      server.on('error', () => {});
      resolve(server);
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
