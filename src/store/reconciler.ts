import { type Clock, newId, type Result } from '../kernel/index.ts';
import { backOffMs } from './back-off.ts';
import { type Lease } from './leases.ts';
import { createRunnerLease } from './runner-lease.ts';
import type { Store, Tx } from './store.ts';

/** How a pass over one id ended (design 5). */
export type PassOutcome =
  /** Nothing is left to do until somebody wakes the id or it is listed again. */
  | { kind: 'done' }
  /** Look again after `ms` by the store's clock, or earlier when woken. */
  | { kind: 'look-again'; ms: number }
  /** Did not work; tried again after 1, 2, 4, … 60 s. A pass that throws counts as this. */
  | { kind: 'failed'; error: unknown }
  /** Will not work by trying again; left alone until it is woken by name. The pass has told a human. */
  | { kind: 'gave-up'; reason: string };

/** The pass found nothing more to do. */
export const done: PassOutcome = { kind: 'done' };
/** Asks for another pass after `ms`. */
export const lookAgainIn = (ms: number): PassOutcome => ({ kind: 'look-again', ms });
/** Reports a failure that may pass. */
export const failed = (error: unknown): PassOutcome => ({ kind: 'failed', error });
/** Reports a failure that will not pass. */
export const gaveUp = (reason: string): PassOutcome => ({ kind: 'gave-up', reason });

/** What a pass knows besides the id. */
export interface PassContext {
  /** The reconciler's own fencing number; grows when another node or a restarted server takes over. */
  fence: number;
  /** To be asked first in each transaction that must not run beside a successor's: refuses with `lease_lost`. */
  checkFence(tx: Tx): Promise<Result<Lease>>;
  /** Failures in a row before this pass. */
  failures: number;
  /** Aborted when `stop` has waited long enough. */
  signal: AbortSignal;
}

/** A loop that brings things where they should be. */
export interface ReconcilerOptions {
  /** Names the reconciler's lease; unique among the reconcilers of an instance. */
  name: string;
  /** One runner for each slot; default `all`: one among all nodes. A reconciler of each node passes the node's id. */
  slot?: string;
  /** The ids that may need a pass; read at the start, each `everyMs` and when all are woken. */
  list: () => Promise<readonly string[]>;
  /** Reads the whole state of `id` and acts. At most one pass for an id runs at a time. */
  pass: (id: string, context: PassContext) => Promise<PassOutcome>;
  /** How often the list is read without being woken; default 10 s. */
  everyMs?: number;
  /** Topics whose subject is an id of this reconciler; the subject `''` wakes all. */
  wakeOn?: readonly string[];
  /** Topics whose subject is something else: each wake-up reads the list, and ids that rest are looked at soon. */
  wakeAllOn?: readonly string[];
  /** Passes at a time; default 4. */
  concurrency?: number;
  /** Told after each pass; for logs and metrics. */
  onPass?: (pass: { id: string; outcome: PassOutcome; durationMs: number }) => void;
  /** Told when the list cannot be read or the lease cannot be taken; it is tried again. */
  onError?: (error: unknown) => void;
}

export interface Reconciler {
  /** Runs a pass over `id` now, or reads the list when no id is given. */
  wake(id?: string): void;
  /**
   * Reads the list, runs everything that is due by the store's clock, and resolves when no more is. For tests that have
   * moved the clock, and for a last look before a stop.
   */
  settle(): Promise<void>;
  /** Starts no more passes and waits for the running ones; after `graceMs` (default 5 s) their signal is aborted. */
  stop(graceMs?: number): Promise<void>;
}

/** What is known of an id between passes; ids that are done are forgotten. */
interface Waiting {
  dueAt: number;
  failures: number;
  gaveUp: boolean;
  running: boolean;
  /** Woken while a pass ran. */
  again: boolean;
  /** Count of wake-ups of all when its last pass began, and when it ended. */
  wakesAtStart: number;
  wakesAtEnd: number;
  /** Epoch ms of the end of its last pass. */
  endedAt: number;
}

/** A pass may wake all by what it writes, and hear of that after its end; it shall not run hot then. */
const leastRestMs = 500;

/** Starts a reconciler; wake-ups only hint, the list is read at the start and each `everyMs` anyway. Source: design section 5. */
export function startReconciler(store: Store, options: ReconcilerOptions): Reconciler {
  const clock: Clock = store.clock;
  const everyMs = options.everyMs ?? 10_000;
  const concurrency = options.concurrency ?? 4;
  const lease = createRunnerLease(store, { name: options.name, slot: options.slot ?? 'all', holder: newId() });
  const ids = new Map<string, Waiting>();
  const running = new Set<Promise<void>>();
  const abort = new AbortController();
  let listDue = true;
  /** How often all were woken. */
  let wakes = 0;
  let round: Promise<void> | undefined;
  let roundAgain = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const unlisten = [
    ...(options.wakeOn ?? []).map((topic) => store.onWake(topic, (subject) => wake(subject || undefined))),
    ...(options.wakeAllOn ?? []).map((topic) => store.onWake(topic, () => wake())),
  ];
  const everyTimer = setInterval(() => {
    listDue = true;
    void nextRound();
  }, everyMs);
  void nextRound();

  function wake(id?: string): void {
    if (id === undefined) {
      listDue = true;
      wakes += 1;
    } else wakeId(id);
    void nextRound();
  }

  function wakeId(id: string): void {
    const known = ids.get(id);
    if (known?.running) known.again = true;
    else if (known) Object.assign(known, { dueAt: clock.now(), gaveUp: false });
    else {
      const fresh = {
        failures: 0,
        gaveUp: false,
        running: false,
        again: false,
        wakesAtStart: wakes,
        wakesAtEnd: wakes,
        endedAt: 0,
      };
      ids.set(id, { dueAt: clock.now(), ...fresh });
    }
  }

  /** One round at a time; asked for during one, another follows. */
  function nextRound(): Promise<void> {
    roundAgain = true;
    round ??= (async () => {
      while (roundAgain && !stopped) {
        roundAgain = false;
        await startDue().catch((error: unknown) => options.onError?.(error));
      }
      round = undefined;
      planTimer();
    })();
    return round;
  }

  async function startDue(): Promise<void> {
    const fence = await lease.hold();
    if (fence === undefined) return;
    if (listDue) {
      listDue = false;
      await readList();
    }
    for (const [id, state] of ids) {
      if (stopped || running.size >= concurrency) return;
      if (state.running || state.gaveUp || state.dueAt > clock.now()) continue;
      startPass(id, state, fence);
    }
  }

  async function readList(): Promise<void> {
    let listed: Set<string>;
    try {
      listed = new Set(await options.list());
    } catch (error) {
      options.onError?.(error);
      return;
    }
    for (const id of listed) {
      const known = ids.get(id);
      if (!known) wakeId(id);
      // The clock was set back: what it planned before would come too late by as much.
      else if (!known.running && !known.gaveUp && known.endedAt > clock.now())
        Object.assign(known, { dueAt: clock.now(), endedAt: clock.now() });
      // One that rests is looked at when all were woken since; what fails keeps its back-off.
      else if (!known.running && !known.gaveUp && known.failures === 0 && wakes > known.wakesAtEnd)
        known.dueAt = Math.min(known.dueAt, Math.max(clock.now(), known.endedAt + leastRestMs));
    }
    for (const [id, state] of ids) if (state.gaveUp && !listed.has(id)) ids.delete(id);
  }

  function startPass(id: string, state: Waiting, fence: number): void {
    state.running = true;
    state.again = false;
    state.wakesAtStart = wakes;
    const startedAt = clock.monotonic();
    const context: PassContext = {
      fence,
      checkFence: lease.checkFence(fence),
      failures: state.failures,
      signal: abort.signal,
    };
    const pass = runPass(id, context).then((outcome) => {
      settleOutcome(id, state, outcome);
      return options.onPass?.({ id, outcome, durationMs: clock.monotonic() - startedAt });
    });
    running.add(pass);
    void pass.finally(() => {
      running.delete(pass);
      void nextRound();
    });
  }

  async function runPass(id: string, context: PassContext): Promise<PassOutcome> {
    try {
      return await options.pass(id, context);
    } catch (error) {
      return failed(error);
    }
  }

  function settleOutcome(id: string, state: Waiting, outcome: PassOutcome): void {
    state.running = false;
    state.wakesAtEnd = wakes;
    state.endedAt = clock.now();
    state.failures = outcome.kind === 'failed' ? state.failures + 1 : 0;
    state.gaveUp = outcome.kind === 'gave-up' && !state.again;
    // A failing pass often wakes its own id: that must not shorten its back-off.
    if (outcome.kind === 'failed') state.dueAt = clock.now() + backOffMs(state.failures);
    else if (state.again) state.dueAt = clock.now();
    else if (outcome.kind === 'look-again') state.dueAt = clock.now() + outcome.ms;
    // What all were woken for while the pass ran may have come too late for it.
    else if (outcome.kind === 'done' && wakes > state.wakesAtStart) state.dueAt = clock.now();
    else if (outcome.kind === 'done') ids.delete(id);
  }

  function planTimer(): void {
    clearTimeout(timer);
    if (stopped) return;
    const dueAts = [...ids.values()].filter((state) => !state.running && !state.gaveUp).map((state) => state.dueAt);
    if (dueAts.length === 0) return;
    const waitMs = Math.max(1, Math.min(...dueAts) - clock.now());
    // With every place taken, the end of a pass starts the next round.
    if (running.size < concurrency) timer = setTimeout(() => void nextRound(), Math.min(waitMs, everyMs));
  }

  function isIdle(): boolean {
    const now = clock.now();
    const due = [...ids.values()].some((state) => state.running || (!state.gaveUp && state.dueAt <= now));
    return !due && !listDue && round === undefined;
  }

  return {
    wake,
    async settle() {
      listDue = true;
      do {
        await nextRound();
        await Promise.all(running);
      } while (!stopped && lease.isHeld() && !isIdle());
    },
    async stop(graceMs = 5000) {
      stopped = true;
      for (const end of unlisten) end();
      clearInterval(everyTimer);
      clearTimeout(timer);
      const grace = setTimeout(() => abort.abort(), graceMs);
      await round;
      await Promise.all(running);
      clearTimeout(grace);
      await lease.release();
    },
  };
}
