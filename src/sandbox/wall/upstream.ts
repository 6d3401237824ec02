import { once } from 'node:events';
import type { Socket } from 'node:net';

/** The proxy through which this machine reaches the internet, where it has no direct way. */
export interface UpstreamProxy {
  host: string;
  port: number;
  /** Value of Proxy-Authorization, when the address had a log-in. */
  authorization?: string;
  /** Names reached directly: exact, or with all below when they start with a dot. */
  except: readonly string[];
}

const maxAnswerBytes = 16_384;
const answerTimeoutMs = 20_000;

/** The proxy that the server's own environment names (`HTTPS_PROXY`, `NO_PROXY`); `undefined` for none, or one of another kind. */
export function upstreamFromEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): UpstreamProxy | undefined {
  const address = env.HTTPS_PROXY ?? env.https_proxy ?? '';
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.protocol !== 'http:') return undefined;
  const login = decodeURIComponent(`${url.username}:${url.password}`);
  return {
    host: url.hostname,
    port: Number(url.port || 80),
    ...(login === ':' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    except: (env.NO_PROXY ?? env.no_proxy ?? '')
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  };
}

/** Whether `host` is reached through the proxy. */
export function goesUpstream(upstream: UpstreamProxy, host: string): boolean {
  return !upstream.except.some(
    (name) => name === '*' || host === name.replace(/^\*?\./, '') || host.endsWith(`.${name.replace(/^\*?\./, '')}`),
  );
}

/** Asks the proxy behind `socket` for a tunnel to `host:port`; false, with the socket ended, when it says no. */
export async function askForTunnel(
  socket: Socket,
  { authorization }: UpstreamProxy,
  host: string,
  port: number,
): Promise<boolean> {
  const login = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n${login}\r\n`);
  socket.setTimeout(answerTimeoutMs, () => socket.destroy());
  let answer: Buffer = Buffer.alloc(0);
  try {
    while (!answer.includes('\r\n\r\n') && answer.length < maxAnswerBytes) {
      await once(socket, 'readable', { signal: closedSignal(socket) });
      const chunk = socket.read() as Buffer | null;
      if (chunk) answer = Buffer.concat([answer, chunk]);
      else if (socket.readableEnded) break;
    }
  } catch {
    // the proxy ended the connection: no answer is a no
  }
  socket.setTimeout(0);
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0 || !/^HTTP\/1\.[01] 200 /.test(answer.toString('latin1', 0, 13))) {
    socket.destroy();
    return false;
  }
  if (answer.length > end + 4) socket.unshift(answer.subarray(end + 4));
  return true;
}

function closedSignal(socket: Socket): AbortSignal {
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  return controller.signal;
}
