import { Client, type Pool } from 'pg';

import { newId } from '../../kernel/index.ts';
import type { WakeHub } from '../wake.ts';
import { sessionSettings } from './pool.ts';

const channel = 'chantier';
/** A connection that died without a word is noticed by asking it something. */
const pingEveryMs = 30_000;
const pingWaitMs = 10_000;
/** PostgreSQL takes at most 8000 bytes. */
const maxPayloadBytes = 7900;

/** Wake-ups between the nodes that share a database: LISTEN and NOTIFY, hints only. */
export interface WakeUps {
  /** Wakes this process at once and the other nodes by one NOTIFY for all that comes together. */
  send(wakes: readonly [topic: string, subject: string][]): void;
  stop(): Promise<void>;
}

/**
 * Listens on a connection of its own, which is opened again (after 0.1 s, doubling up to 5 s) when it breaks; everybody is
 * then woken, since something may have been missed. NOTIFY goes out after COMMIT and outside of it: inside, it would
 * make all commits of the database wait for one another.
 */
export async function startWakeUps(url: string, pool: Pool, hub: WakeHub): Promise<WakeUps> {
  const origin = newId();
  let queue = new Set<string>();
  let sending: Promise<void> | undefined;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let stopped = false;

  async function listen(): Promise<void> {
    const next = new Client({ connectionString: url, application_name: 'chantier-listen', keepAlive: true });
    let broken = false;
    const onBreak = (): void => {
      if (broken) return;
      broken = true;
      clearInterval(ping);
      next.end().catch(() => {});
      if (client === next) reconnect(100);
    };
    const ping = setInterval(() => {
      const overdue = setTimeout(onBreak, pingWaitMs);
      next.query('select 1').then(
        () => clearTimeout(overdue),
        () => clearTimeout(overdue),
      );
    }, pingEveryMs);
    next.on('error', onBreak);
    next.on('end', onBreak);
    next.on('notification', ({ payload }) => receive(payload ?? ''));
    try {
      await next.connect();
      await next.query(`${sessionSettings}; listen ${channel}`);
    } catch (error) {
      broken = true;
      clearInterval(ping);
      next.end().catch(() => {});
      throw error;
    }
    client = next;
    if (stopped) await next.end().catch(() => {});
  }

  function reconnect(afterMs: number): void {
    client = undefined;
    if (stopped) return;
    retry = setTimeout(() => {
      listen().then(
        () => hub.fireAll(),
        () => reconnect(Math.min(afterMs * 2, 5000)),
      );
    }, afterMs);
  }

  function receive(payload: string): void {
    const [from, topic, subject] = JSON.parse(payload) as [string, string, string];
    if (from !== origin) hub.fire(topic, subject);
  }

  async function flush(): Promise<void> {
    while (queue.size > 0) {
      const payloads = [...queue];
      queue = new Set();
      await pool
        .query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [channel, payloads])
        .catch(() => {});
    }
    sending = undefined;
  }

  await listen();
  return {
    send(wakes) {
      if (stopped || wakes.length === 0) return;
      for (const [topic, subject] of wakes) {
        hub.fire(topic, subject);
        const payload = JSON.stringify([origin, topic, subject]);
        queue.add(Buffer.byteLength(payload) > maxPayloadBytes ? JSON.stringify([origin, topic, '']) : payload);
      }
      sending ??= flush();
    },
    async stop() {
      stopped = true;
      clearTimeout(retry);
      await sending;
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}
