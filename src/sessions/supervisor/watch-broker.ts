import { type Actor, toRfc3339 } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { Broker } from '../broker.ts';

/** Waits before the tries to reach the broker again, in ms; the last one repeats without end (S-50). */
export const reconnectWaitsMs = [1_000, 2_000, 4_000, 8_000, 10_000] as const;

/** What watching the broker tells. */
export interface BrokerWatch {
  /** Whether presence can be judged now; while it cannot, nothing becomes CRASHED or START_FAILED by silence (S-53). */
  isUp(): boolean;
  /** How much of the time from `since` until now was an outage, ms: timers are extended by it (S-53). Times of the store's clock. */
  lostMs(since: number): number;
  /** Asks the broker once; an outage begins the tries to reach it again. */
  check(): Promise<void>;
  stop(): void;
}

/** Ways to the world that a test replaces. */
export interface BrokerWatchOptions {
  actor: Actor;
  /** Called on recovery, for the reconciliation that must follow (S-50). */
  onRecovered: () => void;
  onFault: (error: unknown) => void;
  /** Waits; default a timer. Rejects or never resolves once stopped. */
  wait?: (ms: number) => Promise<void>;
  /** Default: the store's clock. */
  now?: () => number;
}

/** Outages that are remembered; older ones than the last so many extend no timer any more. */
const keptOutages = 100;

/**
 * Watches the broker: no failure is swallowed, each leads to DEGRADED with an alert, the tries to reach it again come after
 * 1, 2, 4, 8, 10, 10, … s, and recovery is followed by a reconciliation (S-50 to S-53, ERR-06, CA-12).
 */
export function watchBroker(store: Store, broker: Broker, options: BrokerWatchOptions): BrokerWatch {
  const { actor, onRecovered, onFault, wait = sleep, now = () => store.clock.now() } = options;
  let downSince: number | undefined;
  const ending = { isWanted: false };

  const outages: { from: number; to: number }[] = [];
  /** Facts of an outage whose beginning could not be written, because the store itself was away. */
  let unsaid: Record<string, string> | undefined;

  async function say(
    kind: 'broker.degraded' | 'broker.recovered',
    facts: Record<string, number | string>,
  ): Promise<boolean> {
    try {
      await store.tx((tx) => tx.emit({ kind, actor, subject: { kind: 'broker', id: 'sessions' }, facts }));
      return true;
    } catch (error) {
      onFault(error);
      return false;
    }
  }

  async function reconnect(since: number): Promise<void> {
    for (let attempt = 0; !ending.isWanted; attempt += 1) {
      await wait(reconnectWaitsMs[Math.min(attempt, reconnectWaitsMs.length - 1)] ?? 10_000);
      if (ending.isWanted || (await broker.reconnect()) !== 'OK') continue;
      const until = now();
      outages.push({ from: since, to: until });
      if (outages.length > keptOutages) outages.shift();
      downSince = undefined;
      if (unsaid) await say('broker.degraded', { ...unsaid, since: toRfc3339(since) });
      unsaid = undefined;
      await say('broker.recovered', { attempts: attempt + 1, outage_ms: Math.round(until - since) });
      onRecovered();
      return;
    }
  }

  return {
    isUp: () => downSince === undefined,
    lostMs(since) {
      const all = downSince === undefined ? outages : [...outages, { from: downSince, to: now() }];
      return all.reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, since)), 0);
    },
    async check() {
      if (downSince !== undefined || ending.isWanted) return;
      const listed = await broker.listPeers();
      if (listed.ok || downSince !== undefined) return;
      const since = now();
      downSince = since;
      const facts = { message: listed.refusal.code };
      if (!(await say('broker.degraded', facts))) unsaid = facts;
      void reconnect(since).catch(onFault);
    },
    stop() {
      ending.isWanted = true;
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
