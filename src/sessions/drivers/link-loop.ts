import type { Clock } from '../../kernel/index.ts';
import type { Generation, JournalLine, JournalReader, LookCause } from '../host/index.ts';
import type { DriverSink } from './driver.ts';
import type { DriverEvent, LivenessEvent } from './driver-event.ts';

/** What a driver adds to the loop. All of it is called from the loop, one at a time. */
export interface LinkHandler {
  /**
   * Waits for a frame of ours that the agent may have read already and the conversation does not know yet: its answer can
   * stand in the journal before our write has come back. `undefined` when there is none.
   */
  unentered?(): Promise<unknown> | undefined;
  /** Turns one line of the journal into events. */
  readLine(line: JournalLine): DriverEvent[];
  /** Does what is due: sends frames, raises flags. Called after every round of lines. */
  advance(): Promise<void>;
  /** When `advance` is wanted next though nothing comes in (monotonic ms). */
  nextDueAt(): number;
  /** The process is gone: what is still open ends. */
  finish(): DriverEvent[];
}

const maxBatchEvents = 200;
const maxBatchBytes = 1024 * 1024;
/** How long the journal must be quiet after the end when something else still holds the agent's stdout. */
const quietAfterEndMs = 50;
const retryAfterMs = 1_000;
/** An agent of which nothing is wanted for so long rests (ms); in a turn a ping is due each second. */
const restingMs = 2_000;
/** How often a resting agent is looked at without a notice (ms): its death is to be known within 1 s (decision 4). */
const restingLookMs = 450;
/** How often is noted how far the journal has come (ms). */
const markEveryMs = 5_000;

/** Reads one generation's journal and gives events and flags, in order and one at a time, to a sink. */
export class LinkLoop {
  readonly #generation: Generation;
  readonly #sink: DriverSink;
  readonly #handler: LinkHandler;
  readonly #clock: Clock;
  readonly #reader: JournalReader;
  #queue: DriverEvent[] = [];
  #flags: LivenessEvent[] = [];
  #appliedTo: number;
  #consumedTo: number;
  #isDetached = false;
  #hasEnded = false;
  #wake: (() => void) | undefined;
  #isWoken = false;
  #seenSize = -1;
  #lookedAt = -Infinity;
  #markedTo: number;
  #markedAt = -Infinity;
  #done: Promise<void> = Promise.resolve();

  constructor(generation: Generation, reader: JournalReader, handler: LinkHandler, sink: DriverSink, clock: Clock) {
    this.#generation = generation;
    this.#reader = reader;
    this.#handler = handler;
    this.#sink = sink;
    this.#clock = clock;
    this.#appliedTo = reader.consumed;
    this.#consumedTo = reader.consumed;
    this.#markedTo = reader.consumed;
  }

  /** Offset up to which the sink has applied everything. */
  get appliedTo(): number {
    return this.#appliedTo;
  }

  /** Whether something of the journal is not read, or not applied. */
  get isBehind(): boolean {
    return this.#queue.length > 0 || this.#generation.journalSize() > this.#reader.readTo;
  }

  /** Whether the process has ended and everything about it been told. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  start(): void {
    const unwatch = this.#generation.watch((cause) => this.#look(cause));
    this.#done = this.#run().finally(() => {
      unwatch();
      return this.#reader.close();
    });
  }

  /** Ends the loop after the batch in hand; resolves when nothing calls the sink any more. */
  async detach(): Promise<void> {
    this.#isDetached = true;
    this.wake();
    await this.#done;
  }

  /** Queues events that do not come from a line (our own sends). */
  emit(events: readonly DriverEvent[]): void {
    if (events.length === 0) return;
    this.#queue.push(...events);
    this.wake();
  }

  /** Queues a liveness flag. */
  flag(event: LivenessEvent): void {
    this.#flags.push(event);
    this.wake();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#isDetached && !this.#hasEnded) {
      this.#isWoken = false;
      try {
        await this.#round();
      } catch (error) {
        this.#sink.fault?.(error);
        await this.#pause(retryAfterMs);
        continue;
      }
      if (!this.#hasEnded) await this.#untilWoken();
    }
  }

  async #round(): Promise<void> {
    const { phase } = this.#generation.look();
    await this.#drain();
    await this.#mark();
    if (phase === 'ended' || phase === 'start-failed') return this.#end();
    await this.#handler.advance();
    await this.#deliver();
  }

  /** Hands out every complete line; bounded batches keep memory and transactions small in a flood. */
  async #drain(): Promise<boolean> {
    let hasRead = false;
    let line = await this.#reader.next();
    for (; line && !this.#isDetached; line = await this.#reader.next()) {
      hasRead = true;
      const unentered = this.#handler.unentered?.();
      if (unentered) await unentered;
      this.#read(line);
      const isFull = this.#queue.length >= maxBatchEvents || this.#consumedTo - this.#appliedTo >= maxBatchBytes;
      if (isFull) await this.#deliver();
    }
    return hasRead;
  }

  #read(line: JournalLine): void {
    const latch = this.#generation.latch();
    if (!latch || line.start < latch.journalOffset) this.#queue.push(...this.#handler.readLine(line));
    this.#consumedTo = line.end;
  }

  /** A mark that could not be written costs nothing but precision. */
  async #mark(): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#consumedTo === this.#markedTo || now - this.#markedAt < markEveryMs) return;
    this.#markedTo = this.#consumedTo;
    this.#markedAt = now;
    await this.#generation.markTime(this.#consumedTo).catch(() => undefined);
  }

  /** A batch without events is only worth a transaction when much was read. A rejected batch stays and is tried again. */
  async #deliver(): Promise<void> {
    while (this.#queue.length > 0 || this.#consumedTo - this.#appliedTo >= maxBatchBytes) {
      const events = [...this.#queue];
      const consumedTo = this.#consumedTo;
      await this.#sink.apply({ events, consumedTo });
      this.#queue.splice(0, events.length);
      this.#appliedTo = consumedTo;
    }
    for (let flag = this.#flags[0]; flag; flag = this.#flags[0]) {
      await this.#sink.liveness(flag);
      this.#flags.shift();
    }
  }

  async #end(): Promise<void> {
    while (!this.#generation.isJournalComplete()) {
      await this.#pause(quietAfterEndMs);
      if (!(await this.#drain())) break;
    }
    await this.#drain();
    if (this.#isDetached) return;
    this.#readUnfinishedLine();
    this.#queue.push(...this.#handler.finish());
    this.#flags.push(await this.#describeEnd());
    await this.#deliver();
    this.#hasEnded = true;
  }

  /** Some programs leave the newline of their last line out. */
  #readUnfinishedLine(): void {
    const bytes = this.#reader.rest();
    const start = this.#reader.consumed;
    if (bytes.length > 0 && this.#consumedTo <= start)
      this.#read({ kind: 'line', bytes, start, end: start + bytes.length });
  }

  async #describeEnd(): Promise<LivenessEvent> {
    const state = this.#generation.look();
    const latch = this.#generation.latch();
    const isEnd = state.phase === 'ended';
    return {
      kind: 'exited',
      cause: isEnd ? state.cause : 'never-started',
      ...(isEnd && state.code !== undefined ? { code: state.code } : {}),
      isAfterLatch: isEnd && latch !== undefined,
      stderrTail: await this.#generation.stderrTail(8 * 1024),
    };
  }

  /** Runs on every notice and four times a second, twice where nothing is due soon: wakes the loop only for a reason. */
  #look(cause: LookCause): void {
    const now = this.#clock.monotonic();
    const isResting = this.#handler.nextDueAt() > now + restingMs;
    if (cause === 'poll' && isResting && now - this.#lookedAt < restingLookMs) return;
    this.#lookedAt = now;
    if (this.#isWorthWaking()) this.wake();
  }

  #isWorthWaking(): boolean {
    const seen = this.#seenSize;
    try {
      this.#seenSize = this.#generation.journalSize();
      const { phase } = this.#generation.look();
      if (phase === 'ended' || phase === 'start-failed') return true;
    } catch {
      // The loop meets the same fault and tells it.
      return true;
    }
    return this.#seenSize !== seen || this.#clock.monotonic() >= this.#handler.nextDueAt();
  }

  #untilWoken(): Promise<void> {
    if (this.#isWoken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}
