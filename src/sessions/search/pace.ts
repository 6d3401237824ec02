import { setImmediate as nextTurn } from 'node:timers/promises';

/** So long one search works at a stretch before others have their turn (ms). */
const stretchMs = 8;

/** Bounds of one call. */
export interface PaceBounds {
  /** Bytes looked through at most, and a little more. Default 64 MiB. */
  maxBytes?: number;
  /** Default 2 s. */
  maxMs?: number;
  /** Ends it where it is. */
  signal?: AbortSignal | undefined;
}

/** What one search may use up, and its manners on the event loop (field case 68). */
export class SearchPace {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  #bytesLeft: number;
  #bytes = 0;
  #turnBegan = performance.now();

  constructor({ maxBytes = 64 * 1024 * 1024, maxMs = 2_000, signal }: PaceBounds = {}) {
    this.#deadline = performance.now() + maxMs;
    this.#bytesLeft = maxBytes;
    this.#signal = signal;
  }

  /** Bytes looked through so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Notes what was looked through. */
  spend(bytes: number): void {
    this.#bytes += bytes;
    this.#bytesLeft -= bytes;
  }

  /** Whether the call has to end here; what is left is for the next. */
  isOver(): boolean {
    return this.#bytesLeft <= 0 || performance.now() >= this.#deadline || this.#signal?.aborted === true;
  }

  /** Lets others have their turn when this one has worked long enough; called after each small piece of work. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#turnBegan < stretchMs) return;
    await nextTurn();
    this.#turnBegan = performance.now();
  }
}
