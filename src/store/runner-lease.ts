import { type Result, systemActor } from '../kernel/index.ts';
import {
  acquireLease,
  checkFence,
  type Lease,
  type LeaseSubject,
  liveLease,
  releaseLease,
  renewLease,
} from './leases.ts';
import type { Store, Tx } from './store.ts';

const ttlMs = 15_000;
const renewMs = 5_000;

/** The lease of a background loop: one node runs it at a time, the next takes over at most 15 s after a crash. */
export interface RunnerLease {
  /** Takes or keeps the lease; gives its fence, or `undefined` while another node has it. */
  hold(): Promise<number | undefined>;
  isHeld(): boolean;
  checkFence(fence: number): (tx: Tx) => Promise<Result<Lease>>;
  release(): Promise<void>;
}

/**
 * A lease that is written at most each 5 s and makes no events: who runs a loop is no fact of the work. On an embedded
 * store the instance lock has settled already that nobody else runs, so a dead predecessor's lease ends at once.
 */
export function createRunnerLease(store: Store, runner: { name: string; slot: string; holder: string }): RunnerLease {
  const subject: LeaseSubject = { resourceType: 'runner', resourceId: runner.name, slot: runner.slot };
  const actor = systemActor(runner.name);
  let fence: number | undefined;
  let renewedAt = 0;
  let firstTime = true;

  async function hold(): Promise<number | undefined> {
    const sinceMs = store.clock.now() - renewedAt;
    if (fence !== undefined && sinceMs >= 0 && sinceMs < renewMs) return fence;
    fence = await store.tx(async (tx) => {
      const kept = fence === undefined ? undefined : await renewLease(tx, subject, fence);
      if (kept?.ok) return fence;
      if (firstTime && tx.dialect === 'sqlite') await endPredecessor(tx);
      const taken = await acquireLease(tx, subject, { holder: runner.holder, ttlMs, actor, quiet: true });
      return taken.ok ? taken.value.fence : undefined;
    });
    firstTime = false;
    if (fence !== undefined) renewedAt = store.clock.now();
    return fence;
  }

  async function endPredecessor(tx: Tx): Promise<void> {
    const live = await liveLease(tx, subject);
    if (live && live.holder !== runner.holder)
      await releaseLease(tx, subject, { reason: 'restart', actor, quiet: true });
  }

  return {
    hold,
    isHeld: () => fence !== undefined,
    checkFence: (held) => (tx) => checkFence(tx, subject, held),
    async release() {
      const held = fence;
      fence = undefined;
      if (held === undefined) return;
      await store
        .tx((tx) => releaseLease(tx, subject, { reason: 'stopped', actor, fence: held, quiet: true }))
        .catch(() => {});
    },
  };
}
