import { randomUUID } from 'node:crypto';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';

import type { Problem } from '../wire/index.ts';
import { CommandFailure, failureOfProblem, failWith } from './outcome.ts';

// Not imported: that makes Node load its WebSocket and fetch code too, half of what a verb costs.
const { request } = process.getBuiltinModule('node:http');

/** Where a server is. */
export type Address = { socket: string } | { url: string };

/** One request to the API. */
export interface ApiRequest {
  body?: unknown;
  query?: Record<string, string | number | boolean | undefined>;
  /** Idempotency key; made when a change has none. */
  key?: string;
  /** Proof of a human. */
  proof?: string;
  /** How long to wait for the answer, in ms; default 10 minutes (landing runs checks). */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Talks HTTP to a server, on its socket or on TCP. */
export interface Client {
  readonly address: Address;
  /** Sends and gives the parsed answer. Throws `CommandFailure` for problems (with the exit code) and for a server that is away (7). */
  send<T>(method: string, path: string, options?: ApiRequest): Promise<T>;
  /** Opens a stream of bytes; the caller reads it to its end. */
  open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage>;
}

/** A client for the server at `address`, with `token` as its credential. */
export function createClient(address: Address, token: string | undefined): Client {
  const optionsFor = (method: string, path: string, headers: Record<string, string>): RequestOptions => {
    const all = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    if ('socket' in address)
      return { socketPath: address.socket, method, path, headers: { host: 'localhost', ...all } };
    const url = new URL(address.url);
    return { host: url.hostname, port: url.port || 80, method, path, headers: all };
  };

  return {
    address,
    async send<T>(method: string, path: string, options: ApiRequest = {}): Promise<T> {
      const headers: Record<string, string> = { accept: 'application/json' };
      const body = options.body === undefined ? undefined : JSON.stringify(options.body);
      if (body !== undefined) {
        headers['content-type'] = 'application/json';
        headers['content-length'] = String(Buffer.byteLength(body));
      }
      if (method !== 'GET') headers['idempotency-key'] = options.key ?? randomUUID();
      if (options.proof !== undefined) headers['chantier-proof'] = options.proof;
      const message = await exchange(
        request(optionsFor(method, path + queryText(options.query), headers)),
        body,
        options.timeoutMs ?? 600_000,
        options.signal,
      );
      const text = await readAll(message);
      return parseAnswer<T>(message.statusCode ?? 0, text);
    },
    async open(path, headers, signal) {
      const message = await exchange(
        request({ ...optionsFor('GET', path, headers), signal }),
        undefined,
        30_000,
        signal,
      );
      if ((message.statusCode ?? 0) < 400) return message;
      parseAnswer(message.statusCode ?? 0, await readAll(message));
      throw new Error('an answer of 400 or more was no problem');
    },
  };
}

/** Whether a failure means that no server answered there (and nothing was done). */
export function isUnreachable(error: unknown): boolean {
  return error instanceof CommandFailure && error.problem.code === 'server_unreachable';
}

function exchange(
  sending: ClientRequest,
  body: string | undefined,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const abort = (): void => void sending.destroy(new Error('interrupted'));
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => sending.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    sending.once('response', (message) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      resolve(message);
    });
    sending.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      reject(unreachable(error));
    });
    sending.end(body);
  });
}

function unreachable(error: NodeJS.ErrnoException): CommandFailure {
  const nobodyThere = ['ENOENT', 'ECONNREFUSED'].includes(error.code ?? '');
  return nobodyThere
    ? failWith('unreachable', 'server_unreachable', 'No Chantier server runs here: start it with "chantier up".')
    : failWith(
        'unreachable',
        'connection_lost',
        `The connection to the server was lost (${error.message}): look with "chantier status".`,
      );
}

async function readAll(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
  } catch (error) {
    throw unreachable(error as NodeJS.ErrnoException);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseAnswer<T>(status: number, text: string): T {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandFailure(1, {
      code: 'not_an_answer',
      detail: `The server answered ${status} with something that is no JSON.`,
    });
  }
  if (status < 400) return parsed as T;
  throw failureOfProblem(parsed as Problem);
}

function queryText(query: ApiRequest['query']): string {
  const entries = Object.entries(query ?? {}).filter((entry) => entry[1] !== undefined);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([key, value]) => [key, String(value)]))}`;
}
