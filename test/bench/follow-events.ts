import { readFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { operatorSocketOf } from '../../src/config/index.ts';
import type { Instance } from '../e2e/instance.ts';

/** An event as an SSE client has it, with when it came (nanoseconds of the machine's monotonic clock). */
export interface HeardEvent {
  heardAt: bigint;
  seq: number;
  kind: string;
  subject: { kind: string; id: string };
  facts: Record<string, unknown>;
}

/** An open event stream. */
export interface Following {
  heard: readonly HeardEvent[];
  /** The first event, past or to come, that `wanted` says yes to. Rejects after 30 s. */
  wait(wanted: (event: HeardEvent) => boolean): Promise<HeardEvent>;
  stop(): void;
}

/** Follows all events of an instance over SSE; resolves once the stream is open. */
export async function followEvents(instance: Instance): Promise<Following> {
  const token = readFileSync(join(instance.home, 'operator.token'), 'utf8').trim();
  const heard: HeardEvent[] = [];
  const waiting = new Set<() => void>();
  const sending: ClientRequest = request({
    socketPath: operatorSocketOf(instance.home)!,
    path: '/api/events',
    headers: { host: 'localhost', accept: 'text/event-stream', authorization: `Bearer ${token}` },
  });
  await new Promise<void>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (stream) => {
      stream.on('error', () => {});
      const lines = createInterface({ input: stream });
      lines.on('error', () => {});
      lines.on('line', (line) => {
        if (!line.startsWith('data: ')) return;
        heard.push({ ...(JSON.parse(line.slice(6)) as HeardEvent), heardAt: process.hrtime.bigint() });
        for (const look of waiting) look();
      });
      resolve();
    });
    sending.end();
  });
  return {
    heard,
    stop: () => void sending.destroy(),
    wait: (wanted) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => end(() => reject(new Error('the event did not come within 30 s'))), 30_000);
        const end = (settle: () => void): void => {
          clearTimeout(timer);
          waiting.delete(look);
          settle();
        };
        const look = (): void => {
          const found = heard.find(wanted);
          if (found) end(() => resolve(found));
        };
        waiting.add(look);
        look();
      }),
  };
}
