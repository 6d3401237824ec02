import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import { operatorSocketOf } from '../../src/config/index.ts';

/** One event as a client of `GET /api/events` gets it, and when it came (`performance.now()`). */
export interface SeenEvent {
  seenAt: number;
  seq: number;
  kind: string;
  sessionId: string | null;
  subject: { kind: string; id: string };
  facts: Record<string, unknown>;
}

/** A client of the event stream from now on: everything that came, and a way to wait for one. */
export interface EventWatch {
  seen: SeenEvent[];
  next(wanted: (event: SeenEvent) => boolean, timeoutMs?: number): Promise<SeenEvent>;
  close(): void;
}

/** Opens the stream over the operator's socket; resolves when the server has answered. */
export function watchEvents(home: string): Promise<EventWatch> {
  const seen: SeenEvent[] = [];
  const waiting = new Set<() => void>();
  const token = readFileSync(join(home, 'operator.token'), 'utf8').trim();
  return new Promise((resolve, reject) => {
    const sending = request({
      socketPath: operatorSocketOf(home),
      path: '/api/events',
      headers: { host: 'localhost', authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    sending.once('error', reject);
    sending.once('response', (stream) => {
      let text = '';
      stream.setEncoding('utf8');
      stream.on('error', () => {}); // the server may be killed
      stream.on('data', (chunk: string) => {
        const messages = (text + chunk).split('\n\n');
        text = messages.pop() ?? '';
        for (const message of messages) {
          const data = message.split('\n').find((line) => line.startsWith('data: '));
          if (data !== undefined) seen.push({ ...JSON.parse(data.slice(6)), seenAt: performance.now() });
        }
        for (const look of waiting) look();
      });
      resolve({
        seen,
        next: (wanted, timeoutMs = 30_000) => next(seen, waiting, wanted, timeoutMs),
        close: () => void stream.destroy(),
      });
    });
    sending.end();
  });
}

function next(
  seen: SeenEvent[],
  waiting: Set<() => void>,
  wanted: (event: SeenEvent) => boolean,
  timeoutMs: number,
): Promise<SeenEvent> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      waiting.delete(look);
    };
    const look = (): void => {
      const found = seen.find(wanted);
      if (!found) return;
      end();
      resolve(found);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error(`the stream did not bring it: ${wanted}`));
    }, timeoutMs);
    waiting.add(look);
    look();
  });
}
