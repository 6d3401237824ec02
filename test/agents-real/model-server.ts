import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { modelApis, type Sent, sideAnswer } from './model-apis.ts';
import { answerOf, type ProviderRefusal, stepFor } from './model-script.ts';

/** One request that the server got. */
export interface Asked {
  method: string;
  host: string;
  path: string;
  /** Names of the tools that were offered. */
  tools: readonly string[];
  /** What the newest call of a tool gave. */
  heard: string;
  /** All words of the conversation that it was sent, in their order. */
  said: readonly string[];
  status: number;
}

/** A model on 127.0.0.1 that says what the prompt's own script tells it to (`scriptText`). */
export interface ModelServer {
  port: number;
  /** Everything asked so far, oldest first. */
  asked: readonly Asked[];
  /** What steps that are limited are answered with; unset: as scripted. */
  limit: ProviderRefusal | undefined;
  close(): Promise<void>;
}

/** Starts the scripted model; it speaks Anthropic Messages, OpenAI Responses and Chat, and Gemini, streaming and plain. */
export async function startModelServer(): Promise<ModelServer> {
  const asked: Asked[] = [];
  const model: ModelServer = { port: 0, asked, limit: undefined, close: () => close(server) };
  const server = createServer((request, response) => {
    handle(request, response, asked, () => model.limit).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: String(error), type: 'server_error' } }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  model.port = (server.address() as AddressInfo).port;
  return model;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked[],
  limit: () => ProviderRefusal | undefined,
): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://model').pathname;
  const text = await bodyOf(request);
  const api = request.method === 'POST' ? modelApis.find((one) => one.path.test(path)) : undefined;
  const record: Asked = {
    method: request.method ?? '',
    host: request.headers.host ?? '',
    path,
    tools: [],
    heard: '',
    said: [],
    status: 200,
  };
  asked.push(record);
  if (!api) {
    const side = sideAnswer(path);
    // "Upgrade required" is how a server says that it has no WebSocket; what agents then use is a plain request.
    record.status = side !== undefined ? 200 : request.headers.upgrade === undefined ? 404 : 426;
    return void response
      .writeHead(record.status, { 'content-type': 'application/json' })
      .end(JSON.stringify(side ?? {}));
  }
  const body = JSON.parse(text) as Record<string, unknown>;
  const conversation = api.read(body);
  record.tools = conversation.tools.map(({ name }) => name);
  record.heard = conversation.heard;
  record.said = conversation.turns.map(({ text: words }) => words);
  const step = stepFor(conversation);
  if (step.wait !== undefined) await waitUnlessGone(request, step.wait);
  const refusal = step.isLimited === true ? limit() : undefined;
  if (refusal) {
    record.status = refusal.status;
    const headers = { 'content-type': 'application/json', ...refusal.headers };
    return void response.writeHead(refusal.status, headers).end(JSON.stringify(refusal.body));
  }
  if (step.status !== undefined) {
    record.status = step.status;
    const error = { type: 'error', error: { type: 'overloaded_error', message: `as scripted: ${step.status}` } };
    return void response.writeHead(step.status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
  }
  send(response, api.write(answerOf(step, conversation, text), { body, path }));
}

function send(response: ServerResponse, sent: Sent): void {
  if ('json' in sent) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(sent.json));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const { name, data } of sent.events)
    response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  response.end(sent.end ?? '');
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function waitUnlessGone(request: IncomingMessage, ms: number): Promise<void> {
  const gone = new AbortController();
  request.socket.once('close', () => gone.abort());
  await sleep(ms, undefined, { signal: gone.signal }).catch(() => undefined);
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((closed) => server.close(() => closed()));
}
