import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';

import { mayReach } from './addresses.ts';
import { type DenialReason, judgeTarget } from './rules.ts';
import type { WallSession } from './sessions.ts';
import { askForTunnel, goesUpstream, type UpstreamProxy } from './upstream.ts';

export type Connected =
  | { kind: 'connected'; socket: Socket; host: string }
  | { kind: 'denied'; reason: DenialReason }
  /** Allowed, but the world did not answer. */
  | { kind: 'failed'; message: string };

const connectTimeoutMs = 20_000;

/**
 * Opens a connection to `host:port` for `session`, or says why not. The name is resolved here, once; the connection goes to
 * an address that was looked at, so a second answer of the name server changes nothing. Denials are counted here and only here.
 */
export async function connectTarget(session: WallSession, host: string, port: number): Promise<Connected> {
  const judgement = judgeTarget(session.rules(), host, port);
  if (!judgement.allowed) return deny(session, host, port, judgement.reason);
  const { rule } = judgement;
  if (rule.address !== undefined) {
    const cut = rule.address.lastIndexOf(':');
    return dial(session, judgement.host, port, [rule.address.slice(0, cut)], Number(rule.address.slice(cut + 1)));
  }
  const upstream = session.upstream();
  if (upstream && goesUpstream(upstream, judgement.host)) return tunnel(session, judgement.host, port, upstream);
  const answers = await lookup(judgement.host, { all: true }).catch((error: Error) => error);
  if (answers instanceof Error) return { kind: 'failed', message: `${judgement.host} could not be resolved` };
  const options = rule.allowPrivate === undefined ? {} : { allowPrivate: rule.allowPrivate };
  const addresses = answers.map(({ address }) => address).filter((address) => mayReach(address, options));
  if (addresses.length === 0) return deny(session, host, port, 'private-answer');
  return dial(session, judgement.host, port, addresses, port);
}

/** Counts a refusal of `session` and gives it back. */
export function deny(session: WallSession, host: string, port: number, reason: DenialReason): Connected {
  session.denied({ host, port }, reason);
  return { kind: 'denied', reason };
}

/** Through the machine's own proxy: it resolves the name, so only the name is judged here. */
async function tunnel(session: WallSession, host: string, port: number, upstream: UpstreamProxy): Promise<Connected> {
  const socket = await tryAddress(upstream.host, upstream.port);
  if (!socket) return { kind: 'failed', message: `the proxy of this machine (${upstream.host}) did not answer` };
  session.track(socket, { host, port });
  if (await askForTunnel(socket, upstream, host, port)) return { kind: 'connected', socket, host };
  return { kind: 'failed', message: `the proxy of this machine (${upstream.host}) refused ${host}:${port}` };
}

async function dial(
  session: WallSession,
  host: string,
  port: number,
  addresses: readonly string[],
  dialPort: number,
): Promise<Connected> {
  for (const address of addresses) {
    const socket = await tryAddress(address, dialPort);
    if (!socket) continue;
    session.track(socket, { host, port });
    return { kind: 'connected', socket, host };
  }
  return { kind: 'failed', message: `${host}:${port} did not answer` };
}

function tryAddress(host: string, port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    socket.setTimeout(connectTimeoutMs, () => socket.destroy());
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
    socket.once('close', () => resolve(undefined));
    socket.on('error', () => {}); // `close` follows and says enough
  });
}
