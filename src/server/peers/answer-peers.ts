import type { IncomingMessage, ServerResponse } from 'node:http';

import type { z } from 'zod';

import { Fault, type Refusal, type Result, sameSecret } from '../../kernel/index.ts';
import type { PeersUseCases } from '../../app/index.ts';
import { outsideAck, outsideRegistration, outsideSending, peerId, peersQuery, peerSummary } from '../../wire/index.ts';
import { createRate } from './rate.ts';

/** Largest body of a request; a text has at most 4,000 characters. */
const maxBodyBytes = 64 * 1024;

/** One answer: status and what is written as JSON, or as text. */
interface Answer {
  status: number;
  body: unknown;
}

/**
 * Answers requests of the claude-peers interface as its broker does: `GET /health`, everything else by POST with JSON, errors
 * as `{"error": …}`. Beyond that: only our own Host, nothing from a page in a browser, a token where one is asked for, bodies
 * and rates bounded. Nothing here reaches a use case that decides or commands: `PeersUseCases` has none.
 */
export function answerPeers(
  peers: PeersUseCases,
  token: string | undefined,
): (request: IncomingMessage, port: number) => Promise<Answer> {
  const mayAsk = createRate(200, 400);
  const maySend = createRate(20, 100);
  const mayJoin = createRate(2, 64);
  const actions = actionsOf(peers);

  return async (request, port) => {
    const refused = guard(request, port, token);
    if (refused) return refused;
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (request.method !== 'POST') {
      if (path !== '/health') return { status: 200, body: 'claude-peers broker' };
      return { status: 200, body: { status: 'ok', peers: (await peers.list(peersQuery.parse({}))).length } };
    }
    const action = Object.hasOwn(actions, path) ? actions[path] : undefined;
    if (!action) return errorOf(404, 'not found');
    const isCalm = mayAsk() && (path !== '/send-message' || maySend()) && (path !== '/register' || mayJoin());
    if (!isCalm) return errorOf(429, 'too many requests: wait a second');
    try {
      const body = await readBody(request);
      return body === undefined ? errorOf(413, `a body has at most ${maxBodyBytes} bytes`) : await action(body);
    } catch (error) {
      if (error instanceof Fault && error.retryable) return errorOf(503, 'Broker unavailable — degraded mode');
      if (error instanceof Unusable) return errorOf(500, error.message);
      throw error;
    }
  };
}

function guard(request: IncomingMessage, port: number, token: string | undefined): Answer | undefined {
  const { host = '', origin, authorization } = request.headers;
  if (![`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`].includes(host.toLowerCase()))
    return errorOf(421, 'this port does not answer for that host');
  if (origin !== undefined || request.headers['sec-fetch-site'] !== undefined)
    return errorOf(403, 'this port is not for pages');
  if (token === undefined) return undefined;
  const given = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')?.[1];
  return given !== undefined && sameSecret(given, token) ? undefined : errorOf(401, 'unauthorized');
}

type Action = (body: unknown) => Promise<Answer>;

function actionsOf(peers: PeersUseCases): Record<string, Action> {
  const fine = (more: object = {}): Answer => ({ status: 200, body: { ok: true, ...more } });
  const with_ =
    <S extends z.ZodType>(schema: S, act: (input: z.output<S>) => Promise<Answer>): Action =>
    (body) =>
      act(parse(schema, body));
  return {
    '/register': with_(outsideRegistration, async (client) => answerOf(await peers.register(client), (value) => value)),
    '/heartbeat': with_(peerId, async ({ id }) => peers.heartbeat(id).then(() => fine())),
    '/set-summary': with_(peerSummary, async ({ id, summary }) => peers.setSummary(id, summary).then(() => fine())),
    '/list-peers': with_(peersQuery, async (query) => ({ status: 200, body: await peers.list(query) })),
    '/send-message': with_(outsideSending, async ({ from_id: from, to_id: to, text }) => {
      const sent = await peers.send({ from, to, text });
      // Theirs answers 200 with `ok: false` when a message cannot be sent.
      return sent.ok ? fine() : { status: 200, body: { ok: false, error: sent.refusal.message } };
    }),
    '/poll-messages': with_(peerId, async ({ id }) => messagesOf(await peers.take(id, 'poll'))),
    '/peek-messages': with_(peerId, async ({ id }) => messagesOf(await peers.take(id, 'peek'))),
    '/ack-messages': with_(outsideAck, async ({ ids, id }) => fine({ acked: await peers.ack(ids, id) })),
    '/unregister': with_(peerId, async ({ id }) => peers.unregister(id).then(() => fine())),
  };
}

function messagesOf(messages: unknown[]): Answer {
  return { status: 200, body: { messages } };
}

function answerOf<T>(result: Result<T>, body: (value: T) => unknown): Answer {
  return result.ok ? { status: 200, body: body(result.value) } : refusalAnswer(result.refusal);
}

function refusalAnswer(refusal: Refusal): Answer {
  return errorOf(refusal.kind === 'quota' ? 429 : 500, refusal.message);
}

function errorOf(status: number, error: string): Answer {
  return { status, body: { error } };
}

/** What their broker answers with 500: no JSON, or not what the call needs. */
class Unusable extends Error {}

function parse<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Unusable(`${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not valid'}`);
}

/** The body as JSON, or `undefined` when it is too large. Their clients may leave the content type out. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new Unusable('the body is not JSON');
  }
}

/** Writes an answer; a request whose body was not read to its end is the last of its connection. */
export function writeAnswer(response: ServerResponse, { status, body }: Answer): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  response.writeHead(status, {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': bytes.length,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(status === 413 ? { connection: 'close' } : {}),
  });
  response.end(bytes);
}
