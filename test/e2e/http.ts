import { randomUUID } from 'node:crypto';
import { request } from 'node:http';

/** An answer as it came: status and parsed body. */
export interface Answer {
  status: number;
  body: any; // oxlint-disable-line typescript/no-explicit-any -- each test knows its document
}

/** One request over TCP or a unix socket; nothing but what is named is sent. */
export interface Sending {
  socket?: string;
  url?: string;
  method?: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  token?: string;
}

/** Sends one request; never throws for a status. A change gets an idempotency key unless `headers` holds one. */
export function sendHttp({ socket, url, method = 'GET', path, body, headers = {}, token }: Sending): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const target = url === undefined ? {} : { host: new URL(url).hostname, port: new URL(url).port };
  return new Promise((resolve, reject) => {
    const sending = request({
      ...(socket === undefined ? target : { socketPath: socket }),
      method,
      path,
      headers: {
        ...(socket === undefined ? {} : { host: 'localhost' }),
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    sending.once('error', reject);
    sending.once('response', (message) => {
      let answer = '';
      message.setEncoding('utf8');
      message.on('data', (chunk: string) => (answer += chunk));
      message.once('end', () => resolve({ status: message.statusCode ?? 0, body: parse(answer) }));
      message.once('error', reject);
    });
    sending.end(text);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
