import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { connectTarget, type Connected, deny } from './connect-target.ts';
import { joinSockets } from './join-sockets.ts';
import { splitAuthority } from './rules.ts';
import type { WallSession } from './sessions.ts';

/** Headers between two neighbours, which a proxy never hands on, and the client's own idea of the host. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The HTTP half of the wall: CONNECT and absolute-form requests. Sockets are handed to it by `connection` events. */
export function createHttpProxy(sessionOf: (socket: Duplex) => WallSession | undefined): Server {
  const server = createServer((incoming, outgoing) => {
    const session = sessionOf(incoming.socket);
    if (session) void forwardRequest(session, incoming, outgoing);
    else incoming.socket.destroy();
  });
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const session = sessionOf(client);
    if (session) void openTunnel(session, incoming.url ?? '', client, head);
    else client.destroy();
  });
  // Without a listener Node would ignore the upgrade; a proxy must not pretend that it speaks the other protocol.
  server.on('upgrade', (_incoming: IncomingMessage, client: Duplex) => {
    client.end('HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  server.on('clientError', (_error, client: Duplex) => {
    if (client.writable) client.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    else client.destroy();
  });
  return server;
}

async function openTunnel(session: WallSession, authority: string, client: Duplex, head: Buffer): Promise<void> {
  client.on('error', () => client.destroy());
  const target = splitAuthority(authority);
  const answer = target
    ? await connectTarget(session, target.host, target.port)
    : deny(session, authority, 0, authority.includes('@') ? 'userinfo' : 'malformed');
  if (answer.kind !== 'connected') {
    const { status, text } = explain(answer, authority);
    const headers = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
    client.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n${headers}\r\n${text}`);
    return;
  }
  if (client.destroyed) {
    answer.socket.destroy();
    return;
  }
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) answer.socket.write(head);
  joinSockets(client, answer.socket);
}

async function forwardRequest(
  session: WallSession,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const url = absoluteUrl(incoming.url ?? '');
  if (!url) return refuse(outgoing, deny(session, incoming.url ?? '', 0, 'not-a-proxy-request'), incoming.url ?? '');
  const port = Number(url.port || 80);
  const answer =
    url.username || url.password
      ? deny(session, url.hostname, port, 'userinfo')
      : await connectTarget(session, url.hostname, port);
  if (answer.kind !== 'connected') return refuse(outgoing, answer, `${url.hostname}:${port}`);
  const upstream = request({
    createConnection: () => answer.socket,
    method: incoming.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    headers: { ...handedOn(incoming.headers), host: url.host, connection: 'close' },
    setHost: false,
  });
  upstream.on('response', (response) => {
    try {
      outgoing.writeHead(response.statusCode ?? 502, handedOn(response.headers));
      response.pipe(outgoing);
    } catch {
      outgoing.destroy(); // the server's headers are none that may be handed on
    }
  });
  upstream.on('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else refuse(outgoing, { kind: 'failed', message: `${url.host} broke the connection` }, url.host);
  });
  outgoing.on('close', () => answer.socket.destroy());
  incoming.pipe(upstream);
}

/** The URL of an absolute-form request for plain HTTP; the Host header has no say in where it goes. */
function absoluteUrl(target: string): URL | undefined {
  return /^http:\/\//i.test(target) && URL.canParse(target) ? new URL(target) : undefined;
}

function handedOn(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.has(name) && !named.includes(name)));
}

function refuse(outgoing: ServerResponse, answer: Connected, target: string): void {
  const { status, text } = explain(answer, target);
  outgoing.writeHead(Number(status.slice(0, 3)), { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  outgoing.end(text);
}

/** What the program inside reads, so that its agent can tell the operator. */
function explain(answer: Connected, target: string): { status: string; text: string } {
  if (answer.kind === 'failed')
    return { status: '502 Bad Gateway', text: `The wall reached nobody: ${answer.message}.\n` };
  const reason = answer.kind === 'denied' ? answer.reason : 'malformed';
  const shown = target.replace(/[^\x21-\x7e]/g, '?').slice(0, 255);
  const advice = 'Only hosts and ports that the operator named can be reached from inside the sandbox.';
  return { status: '403 Forbidden', text: `The wall refused ${shown} (${reason}). ${advice}\n` };
}
