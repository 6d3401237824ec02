import { Fault, type Json, newId } from '../kernel/index.ts';
import { backOffMs } from './back-off.ts';
import { claimDue, effectDone, effectFailed, nextDueAt, releaseClaims } from './effect-store.ts';
import { effectsTopic } from './effects.ts';
import type { EffectRow } from './schema/core.ts';
import type { Store } from './store.ts';

/** One try of an effect, as its handler gets it. */
export interface EffectTry {
  /** The same at every try: hand it to the receiver, so that it can tell a repetition. */
  key: string;
  payload: Json;
  /** 1 for the first try. */
  attempt: number;
  /** Aborted at the time limit and when the server stops. */
  signal: AbortSignal;
}

/** Does the effect, at least once. Throws `Fault` with `retryable: false` when trying again cannot help. */
export type EffectHandler = (effect: EffectTry) => Promise<void>;

/** A handler with limits of its own. */
export interface EffectKind {
  run: EffectHandler;
  /** Tries of this kind at a time; default 4. */
  concurrency?: number;
  /** Longest time of one try; default 60 s. */
  timeoutMs?: number;
}

export interface EffectsOptions {
  /** Tries before an effect becomes a decision `dead_letter`; default 8. */
  maxAttempts?: number;
  /** How often to look without being woken; default 5 s. */
  pollMs?: number;
  /** Asked before each look; while it says no, nothing new is tried (a halted instance). Default: always yes. */
  mayTry?: () => boolean | Promise<boolean>;
  /** Told after each try; for logs and metrics. */
  onTry?: (result: { key: string; kind: string; attempt: number; error?: unknown; dead: boolean }) => void;
  /** Told when the table itself cannot be read or written; it is tried again. */
  onError?: (error: unknown) => void;
}

export interface EffectExecutor {
  /** Does everything that is due by the store's clock and resolves when nothing more is. For tests and for a last look. */
  settle(): Promise<void>;
  /** Starts no more tries and waits for the running ones; after `graceMs` (default 5 s) their signal is aborted. */
  stop(graceMs?: number): Promise<void>;
}

/** How long a stopped try may ignore its signal before it is left behind (and repeated later). */
const abandonMs = 1000;

/**
 * Starts doing enqueued effects (design 5 "outbox"): at least once, oldest first, failed ones again after 1, 2, 4, … 60 s.
 * A try is counted before it starts, so the bound holds over a crash in its middle. Effects without a handler wait.
 */
export function startEffects(
  store: Store,
  handlers: Readonly<Record<string, EffectHandler | EffectKind>>,
  options: EffectsOptions = {},
): EffectExecutor {
  const kinds = new Map(
    Object.entries(handlers).map(([kind, handler]) => [
      kind,
      typeof handler === 'function' ? { run: handler } : handler,
    ]),
  );
  const maxAttempts = options.maxAttempts ?? 8;
  const pollMs = options.pollMs ?? 5000;
  const executor = newId();
  const running = new Map<Promise<void>, string>();
  const abort = new AbortController();
  let started: Promise<void> | undefined;
  let round: Promise<void> | undefined;
  let roundAgain = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const unlisten = store.onWake(effectsTopic, () => void nextRound());
  void nextRound();

  function nextRound(): Promise<void> {
    roundAgain = true;
    round ??= (async () => {
      clearTimeout(timer);
      let waitMs = pollMs;
      while (roundAgain && !stopped) {
        roundAgain = false;
        waitMs = await startDue().catch((error: unknown) => {
          options.onError?.(error);
          return pollMs;
        });
      }
      round = undefined;
      if (!stopped) timer = setTimeout(() => void nextRound(), waitMs);
    })();
    return round;
  }

  /** Starts what is due and has a free place; gives how long to wait until the next is due. */
  async function startDue(): Promise<number> {
    started ??= store.dialect === 'sqlite' ? releaseClaims(store) : Promise.resolve();
    await started;
    if (options.mayTry && !(await options.mayTry())) return pollMs;
    for (const [kind, { concurrency = 4, timeoutMs = 60_000 }] of kinds) {
      const free = concurrency - [...running.values()].filter((running) => running === kind).length;
      if (free <= 0 || stopped) continue;
      const claim = { kind, limit: free, executor, claimMs: timeoutMs + 2 * abandonMs, maxAttempts };
      const claimed = await claimDue(store, claim);
      for (const row of claimed) startTry(row, timeoutMs);
    }
    const dueAt = await nextDueAt(store, [...kinds.keys()]);
    return dueAt === undefined ? pollMs : Math.min(pollMs, Math.max(1, dueAt - store.clock.now()));
  }

  function startTry(row: EffectRow, timeoutMs: number): void {
    const attempt = tryOnce(row, timeoutMs)
      .catch((error: unknown) => options.onError?.(error))
      .finally(() => {
        running.delete(attempt);
        void nextRound();
      });
    running.set(attempt, row.kind);
  }

  async function tryOnce(row: EffectRow, timeoutMs: number): Promise<void> {
    const limit = new AbortController();
    const overdue = setTimeout(
      () => limit.abort(new Fault('effect_timeout', `No answer within ${timeoutMs} ms.`, { retryable: true })),
      timeoutMs,
    );
    const signal = AbortSignal.any([limit.signal, abort.signal]);
    const effect: EffectTry = { key: row.key, payload: JSON.parse(row.payload) as Json, attempt: row.attempts, signal };
    let failure: { error: unknown } | undefined;
    try {
      await Promise.race([kinds.get(row.kind)?.run(effect), rejectWhenAborted(signal)]);
    } catch (error) {
      failure = { error };
    } finally {
      clearTimeout(overdue);
    }
    const result = { key: row.key, kind: row.kind, attempt: row.attempts };
    if (!failure) {
      await store.tx((tx) => effectDone(tx, row, executor));
      options.onTry?.({ ...result, dead: false });
      return;
    }
    const { error } = failure;
    const dead = row.attempts >= maxAttempts || (error instanceof Fault && !error.retryable);
    const again = { retryInMs: abort.signal.aborted ? 0 : backOffMs(row.attempts), dead };
    await store.tx((tx) => effectFailed(tx, row, executor, { error, ...again }));
    options.onTry?.({ ...result, error, dead });
  }

  return {
    async settle() {
      do {
        await nextRound();
        await Promise.all(running.keys());
      } while (!stopped && (round !== undefined || running.size > 0 || (await isDue())));
    },
    async stop(graceMs = 5000) {
      stopped = true;
      unlisten();
      clearTimeout(timer);
      const grace = setTimeout(
        () => abort.abort(new Fault('stopping', 'The server stops.', { retryable: true })),
        graceMs,
      );
      await round;
      clearTimeout(timer);
      await Promise.all(running.keys());
      clearTimeout(grace);
    },
  };

  async function isDue(): Promise<boolean> {
    if (options.mayTry && !(await options.mayTry())) return false;
    const dueAt = await nextDueAt(store, [...kinds.keys()]);
    return dueAt !== undefined && dueAt <= store.clock.now();
  }
}

/** A handler that ignores its signal is left behind a second later; its effect is then tried again. */
function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const later = (): void => void setTimeout(() => reject(signal.reason as Error), abandonMs).unref();
    if (signal.aborted) later();
    else signal.addEventListener('abort', later, { once: true });
  });
}
