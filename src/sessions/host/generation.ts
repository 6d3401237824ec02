import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { access, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import { Fault, ok, refuse, systemClock } from '../../kernel/index.ts';
import type { Clock, Result } from '../../kernel/index.ts';
import { fedUpTo } from './feeder.ts';
import { FreedRanges } from './freed-ranges.ts';
import type { ByteRange } from './freed-ranges.ts';
import { filesOf, generationVersion } from './generation-files.ts';
import type { BirthRecord, ExitRecord, GenerationFiles, LatchRecord, ProcessRecord } from './generation-files.ts';
import { Inbox } from './inbox.ts';
import type { AppendedFrame } from './inbox.ts';
import { JournalReader } from './journal-reader.ts';
import type { ReaderBounds } from './journal-reader.ts';
import { bootId, isAlive } from './process-identity.ts';
import { readStderrTail } from './stderr-ring.ts';
import { stopGeneration } from './stop-generation.ts';
import type { StopOptions, StopReport } from './stop-generation.ts';
import { appendMark } from './time-marks.ts';
import { type LookCause, watchFolder } from './watch-folder.ts';

/** A folder without identities after this long has failed to start and is never started again (design section 7). */
export const launchLimitMs = 5_000;
/** How long an agent that is gone may be without exit status while its wrapper lives (ms). */
const exitStatusGraceMs = 400;

/** What is known of a generation's process, most certain first (decision 4): exit file, then pid and start time. */
export type GenerationState =
  /** The wrapper is still connecting the agent; left by `running`, `ended` or `start-failed`. */
  | { phase: 'launching' }
  /** No identities within 5 s; final. */
  | { phase: 'start-failed'; reason: string }
  | { phase: 'running'; record: ProcessRecord }
  /** Final. `gone`: no status was written (the wrapper was killed too); `rebooted`: the machine was started again. */
  | { phase: 'ended'; cause: 'exit-status' | 'gone' | 'rebooted'; code?: number };

/**
 * Opens the folder of a generation that this or an earlier server started; refuses when there is none. Opening changes
 * nothing: any number of readers may look at a generation that a driver of this server holds. Whoever judges it passes the
 * clock by which it was started; a reader passes none, and never calls a start overdue, since that would end it.
 */
export async function openGeneration(folder: string, options: { clock?: Clock } = {}): Promise<Result<Generation>> {
  const files = filesOf(folder);
  try {
    await access(folder);
  } catch {
    return refuse('not-found', 'generation_not_found', `There is no generation in ${folder}; start one.`);
  }
  const birth = readRecord<BirthRecord>(files.birth) ?? bornAt(folder);
  if (birth.version > generationVersion)
    return refuse(
      'wrong-state',
      'generation_newer',
      `${birth.run} was started by a newer Chantier (form ${birth.version}, this one knows ${generationVersion}); its agent goes on. Start that version again.`,
    );
  // A server killed right after it made the folder leaves it without files; it will be START_FAILED like any that stays so.
  for (const path of [files.inbox, files.journal]) await writeFile(path, '', { flag: 'a', mode: 0o600 });
  return ok(new Generation(files, birth, options.clock ?? systemClock, options.clock !== undefined));
}

/** One process start of one session: its two append-only files, its processes and its end. Used by one server at a time. */
export class Generation {
  readonly files: GenerationFiles;
  /** `<session>/<generation>`, the value of the environment marker. */
  readonly run: string;
  readonly startedAtMs: number;
  readonly #clock: Clock;
  readonly #mayJudge: boolean;
  /** How old it was when it was opened (ms); what is added is measured, so that no clock that is set ages it. */
  readonly #ageAtOpenMs: number;
  readonly #openedAt: number;
  #inbox: Promise<Inbox> | undefined;
  #isClosed = false;
  #final: GenerationState | undefined;
  #goneSince: number | undefined;
  #latch: LatchRecord | undefined;
  #record: ProcessRecord | undefined;
  readonly #freed: FreedRanges;

  constructor(files: GenerationFiles, birth: BirthRecord, clock: Clock, mayJudge: boolean) {
    this.#mayJudge = mayJudge;
    this.files = files;
    this.run = birth.run;
    this.#freed = new FreedRanges(files.freed);
    this.startedAtMs = birth.startedAtMs;
    this.#clock = clock;
    this.#ageAtOpenMs = Math.max(0, clock.now() - birth.startedAtMs);
    this.#openedAt = clock.monotonic();
    this.#latch = readRecord<LatchRecord>(files.stop);
  }

  /** Reads the present state from the files and the process table; cheap, never wrong about an end, final ones are kept. */
  look(): GenerationState {
    if (this.#final) return this.#final;
    const state = this.#read();
    if (state.phase === 'ended' || state.phase === 'start-failed') this.#final = state;
    return state;
  }

  /** The identities of its processes, once they are written; kept readable after the end. */
  record(): ProcessRecord | undefined {
    return (this.#record ??= readRecord<ProcessRecord>(this.files.pid));
  }

  /** Calls `look` when anything may have changed: journal grown, exit, pid (each 250 ms in any case). Answers how to end it. */
  watch(look: (cause: LookCause) => void): () => void {
    return watchFolder(this.files.folder, look);
  }

  /**
   * Becomes the one writer of `in.ndjson` and completes what the last one left torn. Drivers call it before they read the
   * files; whoever only reads must not.
   */
  async claimInbox(): Promise<void> {
    await this.#ownInbox();
  }

  /** Appends one frame for the agent, as the one writer. Refuses after the latch and after the end: it could not be delivered any more. */
  async append(frame: string): Promise<Result<AppendedFrame>> {
    if (this.#isClosed)
      return refuse('wrong-state', 'generation_released', `${this.run} was let go; the next owner of it sends.`);
    if (this.latch())
      return refuse('wrong-state', 'generation_stopping', `${this.run} is being stopped; start a new one.`);
    const { phase } = this.look();
    if (phase === 'ended' || phase === 'start-failed')
      return refuse('wrong-state', 'generation_ended', `The process of ${this.run} has ended; start a new one.`);
    const inbox = await this.#ownInbox();
    return ok(await inbox.append(frame));
  }

  /** Whether the feeder has passed everything before `end` on to the agent's stdin; `undefined` when that cannot be seen. */
  hasFed(end: number): boolean | undefined {
    const position = fedUpTo(this.record()?.feeder, this.files.inbox);
    return position === undefined ? undefined : position >= end;
  }

  /** A reader of what the agent said, from byte `from` (the start of a line); what was freed is passed over. */
  readJournal(from = 0, bounds: ReaderBounds = {}): Promise<JournalReader> {
    return JournalReader.open(this.files.journal, from, bounds, () => this.freed());
  }

  /** Which parts of the journal can no longer be read, in order; the rest can. */
  freed(): readonly ByteRange[] {
    return this.#freed.list();
  }

  /** Notes parts that are about to be freed. */
  noteFreed(ranges: readonly ByteRange[]): Promise<void> {
    return this.#freed.add(ranges);
  }

  /** A reader of what was said to the agent. */
  readInbox(): Promise<JournalReader> {
    return JournalReader.open(this.files.inbox);
  }

  /** Bytes said to the agent so far. */
  inboxSize(): number {
    return sizeOf(this.files.inbox);
  }

  /** Bytes in the journal now. */
  journalSize(): number {
    return sizeOf(this.files.journal);
  }

  /** Notes that the journal has been read to `offset` by now; what `--since` looks at. */
  markTime(offset: number): Promise<void> {
    return appendMark(this.files.marks, this.#clock.now(), offset);
  }

  /** Whether nothing more can come into the journal: the agent has ended and the appender with it. */
  isJournalComplete(): boolean {
    const state = this.look();
    if (state.phase !== 'ended') return state.phase === 'start-failed';
    const appender = this.record()?.appender;
    return !appender || state.cause === 'rebooted' || !isAlive(appender);
  }

  /** The newest `maxBytes` (default 64 KiB) of stderr. */
  stderrTail(maxBytes = 64 * 1024): Promise<string> {
    return readStderrTail(this.files.stderr, maxBytes);
  }

  /** The latch of an ordered stop, if it has fallen. */
  latch(): LatchRecord | undefined {
    return (this.#latch ??= readRecord<LatchRecord>(this.files.stop));
  }

  /** Lets the latch fall, once; answers the one that holds. What the journal says from there on does not count. */
  setLatch(): LatchRecord {
    const existing = this.latch();
    if (existing) return existing;
    const latch: LatchRecord = { at: this.#clock.now(), journalOffset: this.journalSize() };
    const draft = `${this.files.stop}.new`;
    writeFileSync(draft, JSON.stringify(latch), { mode: 0o600 });
    try {
      linkSync(draft, this.files.stop);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    rmSync(draft, { force: true });
    return (this.#latch = readRecord<LatchRecord>(this.files.stop) ?? latch);
  }

  /** Ends every process of the generation in order (decision 5); safe to call twice and after the end. */
  stop(options: StopOptions = {}): Promise<StopReport> {
    return stopGeneration(this, options);
  }

  /** Lets go of the files; the agent goes on without noticing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const inbox = this.#inbox;
    this.#inbox = undefined;
    await (await inbox?.catch(() => undefined))?.close();
  }

  #ownInbox(): Promise<Inbox> {
    this.#inbox ??= Inbox.open(this.files).catch((error: unknown) => {
      this.#inbox = undefined;
      throw error;
    });
    return this.#inbox;
  }

  #read(): GenerationState {
    const record = this.record();
    if (!record) return this.#readLaunch();
    const exit = readRecord<ExitRecord>(this.files.exit);
    if (exit) return { phase: 'ended', cause: 'exit-status', code: exit.code };
    if (record.bootId !== bootId()) return { phase: 'ended', cause: 'rebooted' };
    if (isAlive(record.agent)) return { phase: 'running', record };
    return this.#readGone(record);
  }

  /** The agent is gone and its status not there (yet): a living wrapper gets a moment to write it. */
  #readGone(record: ProcessRecord): GenerationState {
    this.#goneSince ??= this.#clock.monotonic();
    const isAwaited = isAlive(record.wrapper) && this.#clock.monotonic() - this.#goneSince < exitStatusGraceMs;
    if (isAwaited) return { phase: 'running', record };
    const exit = readRecord<ExitRecord>(this.files.exit);
    return exit ? { phase: 'ended', cause: 'exit-status', code: exit.code } : { phase: 'ended', cause: 'gone' };
  }

  #readLaunch(): GenerationState {
    const ageMs = this.#ageAtOpenMs + this.#clock.monotonic() - this.#openedAt;
    if (ageMs < launchLimitMs || !this.#mayJudge) return { phase: 'launching' };
    // The wrapper looks at the latch after it wrote the identities, we look for them after we set it: one of us sees the other.
    this.setLatch();
    const record = this.record();
    if (record) return { phase: 'running', record };
    return { phase: 'start-failed', reason: `no process within ${launchLimitMs / 1000} s` };
  }
}

/** A folder that was removed under us holds nothing. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Records appear by rename, whole or not at all; asked for four times a second, so that "not there" must be cheap. */
function readRecord<T>(path: string): T | undefined {
  if (!existsSync(path)) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Fault('generation_unreadable', `${path} cannot be read; check its permissions`, { cause: error });
  }
  return JSON.parse(text) as T;
}

/** A folder whose server died before it wrote the first record: its name and its age say the same. */
function bornAt(folder: string): BirthRecord {
  return {
    version: 1,
    run: `${basename(dirname(folder))}/${basename(folder)}`,
    startedAtMs: statSync(folder).birthtimeMs,
  };
}
