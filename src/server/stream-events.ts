import type { Caller } from '../app/index.ts';
import type { EventQuery, EventView } from '../wire/index.ts';
import type { ApiParts } from './parts.ts';
import { refusalResponse } from './route.ts';

/** A comment this often keeps proxies from closing a silent stream (design 5 "SSE"). */
const keepAliveMs = 15_000;
/** Events read for one client at a time: all that is ever held for it. */
const pageSize = 100;
/** A client that takes nothing for this long is let go; it comes back with `Last-Event-ID`. */
const stuckAfterMs = 60_000;

/**
 * Streams events: what came after `lastId`, then live. Without `lastId` only what comes from now on. An id below the
 * retained range or above the head gives `event: reset`, then the stream goes on at the head. The store is the buffer: a slow client lags and
 * never costs more than one page of memory. It ends with the right to it: the credential is looked at again every 15 s.
 */
export async function streamEvents(
  parts: ApiParts,
  caller: Caller,
  query: EventQuery,
  lastId: string | undefined,
  stream: { stillMay: () => Promise<boolean>; onEnd: () => void },
): Promise<Response> {
  const first = await parts.app.instance.events(caller, { ...query, after: 0, limit: 1 });
  if (!first.ok) {
    stream.onEnd();
    return refusalResponse(first.refusal);
  }
  const start = await startOf(parts, lastId);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
    undefined,
    { highWaterMark: 1 },
    { highWaterMark: 1 },
  );
  const client = new Client(writable.getWriter());
  const rights = watchRights(parts, stream.stillMay);
  const ends = AbortSignal.any([parts.stopping, rights.ended, ...(caller.signal ? [caller.signal] : [])]);
  void pump(parts, caller, query, start, client, ends)
    .catch((error: unknown) => parts.log.warn({ err: error }, 'an event stream ended early'))
    .finally(() => {
      rights.stop();
      stream.onEnd();
      client.end();
    });
  return new Response(readable, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
}

/** Asks again and again whether the caller may still follow; the signal ends the stream when not. */
function watchRights(parts: ApiParts, stillMay: () => Promise<boolean>): { ended: AbortSignal; stop: () => void } {
  const over = new AbortController();
  const look = async (): Promise<void> => {
    if (!(await stillMay().catch(() => false))) over.abort();
  };
  const timer = setInterval(() => void look(), parts.recheckMs ?? keepAliveMs);
  timer.unref();
  return { ended: over.signal, stop: () => clearInterval(timer) };
}

async function startOf(
  parts: ApiParts,
  lastId: string | undefined,
): Promise<{ after: number; reset?: { oldest: number; head: number } }> {
  const { oldest, head } = await parts.app.instance.eventBounds();
  if (lastId === undefined) return { after: head };
  const after = /^\d{1,15}$/.test(lastId) ? Number(lastId) : -1;
  if (after >= Math.max(0, oldest - 1) && after <= head) return { after };
  return { after: head, reset: { oldest, head } };
}

async function pump(
  parts: ApiParts,
  caller: Caller,
  query: EventQuery,
  start: { after: number; reset?: { oldest: number; head: number } },
  client: Client,
  ends: AbortSignal,
): Promise<void> {
  const bell = new Bell();
  const offEvents = parts.app.instance.onEvents(() => bell.ring());
  ends.addEventListener('abort', () => bell.ring(), { once: true });
  client.onGone = () => bell.ring();
  try {
    await client.send('retry: 1000\n: connected\n\n');
    if (start.reset) await client.send(`id: ${start.after}\nevent: reset\ndata: ${JSON.stringify(start.reset)}\n\n`);
    let after = start.after;
    while (!ends.aborted && !client.gone) {
      bell.reset();
      const page = await parts.app.instance.events(caller, { ...query, after, limit: pageSize });
      if (!page.ok) return;
      const text = page.value.items.map(frameOf).join('');
      if (text !== '') await client.send(text);
      const moved = page.value.next > after;
      after = page.value.next;
      if (moved && after < page.value.head) continue;
      if (!(await bell.heardWithin(keepAliveMs))) await client.send(': still here\n\n');
    }
  } finally {
    offEvents();
  }
}

function frameOf(event: EventView): string {
  return `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The writing end of one stream. */
class Client {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  gone = false;
  /** Called when the client has left. */
  onGone = (): void => {};

  constructor(writer: WritableStreamDefaultWriter<Uint8Array>) {
    this.#writer = writer;
    writer.closed.catch(() => {
      this.gone = true;
      this.onGone();
    });
  }

  /** Waits until the client has taken what came before; gives up on one that takes nothing. */
  async send(text: string): Promise<void> {
    if (this.gone) return;
    const stuck = setTimeout(() => void this.#writer.abort(new Error('the client takes nothing')), stuckAfterMs);
    try {
      await this.#writer.ready;
      await this.#writer.write(this.#encoder.encode(text));
    } catch {
      this.gone = true;
    } finally {
      clearTimeout(stuck);
    }
  }

  end(): void {
    if (!this.gone) this.#writer.close().catch(() => {});
    this.gone = true;
  }
}

/** Rings for whoever waits; a ring while nobody waits is kept until `reset`. */
class Bell {
  #rang = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rang = true;
    this.#wake?.();
  }

  reset(): void {
    this.#rang = false;
  }

  /** Whether it rang within `ms`. */
  async heardWithin(ms: number): Promise<boolean> {
    if (this.#rang) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
    return this.#rang;
  }
}
