import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

/** A post as it arrived. */
export interface Posted {
  path: string;
  headers: IncomingHttpHeaders;
  raw: string;
  body: Record<string, unknown>;
}

/** A receiver of posts on 127.0.0.1. */
export interface WebhookServer {
  url: string;
  posted: Posted[];
  /** Answers of the next posts, one each; then 200. `cut` ends the connection after the post was taken. */
  answers: (number | 'cut' | 'redirect')[];
  close(): Promise<void>;
}

export async function startWebhookServer(): Promise<WebhookServer> {
  const posted: Posted[] = [];
  const answers: WebhookServer['answers'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    const answer = answers.shift() ?? 200;
    if (answer === 200 || answer === 'cut')
      posted.push({ path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw) });
    if (answer === 'cut') request.socket.destroy();
    else if (answer === 'redirect') response.writeHead(307, { location: '/elsewhere' }).end();
    else response.writeHead(answer, answer === 429 ? { 'retry-after': '120' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/chantier-topic`, posted, answers, close };
}
