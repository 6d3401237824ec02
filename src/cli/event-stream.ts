import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import type { EventView } from '../wire/index.ts';
import { type Client, isUnreachable } from './client.ts';

/**
 * Follows the event stream, over broken connections too (`Last-Event-ID`), until `signal`. Waits at most 10 s between tries
 * while the server is away.
 */
export async function* readEventStream(
  client: Client,
  filter: { after?: number | undefined; session?: string | undefined; kind?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<EventView> {
  let last = filter.after;
  let waitMs = 250;
  while (!signal.aborted) {
    try {
      const query = new URLSearchParams();
      if (filter.session !== undefined) query.set('session', filter.session);
      if (filter.kind !== undefined) query.set('kind', filter.kind);
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': String(last) }) };
      const stream = await client.open(`/api/events?${query}`, headers, signal);
      waitMs = 250;
      try {
        for await (const message of messagesOf(linesOf(stream))) {
          if (message.id !== undefined) last = message.id;
          if (message.name === undefined && message.data !== '') yield JSON.parse(message.data) as EventView;
        }
      } finally {
        stream.destroy(); // whoever has seen enough keeps no connection open
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnreachable(error) && !isLost(error)) throw error;
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {});
    waitMs = Math.min(10_000, waitMs * 2);
  }
}

/** The lines of a stream. A reader gets its failure thrown; when nobody reads any more it is no news. */
function linesOf(stream: IncomingMessage): AsyncIterable<string> {
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('error', () => {});
  stream.on('error', () => {});
  return lines;
}

interface StreamMessage {
  id?: number;
  name?: string;
  data: string;
}

async function* messagesOf(lines: AsyncIterable<string>): AsyncGenerator<StreamMessage> {
  let message: StreamMessage = { data: '' };
  for await (const line of lines) {
    if (line === '') {
      if (message.data !== '' || message.id !== undefined) yield message;
      message = { data: '' };
    } else if (line.startsWith('id: ')) message.id = Number(line.slice(4));
    else if (line.startsWith('event: ')) message.name = line.slice(7);
    else if (line.startsWith('data: ')) message.data += line.slice(6);
  }
}

function isLost(error: unknown): boolean {
  const code =
    (error as { code?: string; problem?: { code: string } }).problem?.code ?? (error as { code?: string }).code;
  return ['connection_lost', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes(code ?? '');
}
