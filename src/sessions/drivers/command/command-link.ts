import { ok, refuse } from '../../../kernel/index.ts';
import type { Clock, Result } from '../../../kernel/index.ts';
import { parseTerminalFrame } from '../../../terminal/index.ts';
import type { TerminalInput } from '../../../terminal/index.ts';
import type { Generation, JournalLine, JournalReader, StopOptions, StopReport } from '../../host/index.ts';
import type { AgentLink, AgentProfile, DriverSink, LinkSnapshot, TerminalControl } from '../driver.ts';
import type { DriverEvent, PromptVerdict } from '../driver-event.ts';
import { LinkLoop } from '../link-loop.ts';
import type { LinkHandler } from '../link-loop.ts';

/** Output is shown in pieces of at most this many characters. */
const maxOutputChars = 8_000;

/** A prompt as it stands in `in.ndjson`: one JSON line that names itself. */
interface PromptLine {
  promptId: string;
  prompt: string;
}

/** How many ids of inputs are remembered, so that one that is sent again is not typed again. */
const maxInputs = 2_000;

/**
 * A program without protocol: liveness from the process. Over pipes its output is noise, and prompts go as lines where the
 * profile allows them. At a terminal nothing is read from what it draws (field cases 50, 55).
 */
export class CommandLink implements AgentLink, LinkHandler {
  readonly generation: Generation;
  readonly #loop: LinkLoop;
  readonly #profile: AgentProfile;
  readonly #prompts = new Map<string, { end: number; verdict: PromptVerdict }>();
  #sending: Promise<unknown> = Promise.resolve();
  #isAnnounced: boolean;
  readonly #inputs = new Set<string>();
  readonly terminal?: TerminalControl;

  constructor(parts: {
    generation: Generation;
    reader: JournalReader;
    sink: DriverSink;
    clock: Clock;
    profile: AgentProfile;
    isFresh: boolean;
  }) {
    this.generation = parts.generation;
    this.#profile = parts.profile;
    this.#isAnnounced = !parts.isFresh;
    if (parts.profile.tty) this.terminal = { send: (input) => this.#send(input) };
    this.#loop = new LinkLoop(parts.generation, parts.reader, this, parts.sink, parts.clock);
  }

  async start(): Promise<void> {
    await this.generation.claimInbox();
    const inbox = await this.generation.readInbox();
    for (let line = await inbox.next(); line; line = await inbox.next())
      if (line.kind === 'line') this.#notePrompt(line.bytes.toString('utf8'), line.end);
    await inbox.close();
    this.#loop.start();
  }

  snapshot(): LinkSnapshot {
    const { phase } = this.generation.look();
    return {
      phase: phase === 'running' ? 'open' : phase === 'launching' ? 'launching' : 'ended',
      // A program says nothing about turns: while it runs, it works.
      turn: phase === 'running' ? 'running' : 'idle',
      openPromptId: null,
      conversationId: null,
      mode: null,
      permissions: [],
      questions: [],
      prompts: [...this.#prompts].map(([promptId, { verdict }]) => ({ promptId, verdict })),
      isUnresponsive: false,
      isStalled: false,
      consumedTo: this.#loop.appliedTo,
    };
  }

  isBehind(): boolean {
    return this.#loop.isBehind;
  }

  /** Output proves nothing, so none of it is needed twice. */
  isSpent(): boolean {
    return true;
  }

  /** Written as one line; that it was read cannot be proven, so the best verdict is `unconfirmed`. */
  prompt(promptId: string, text: string): Promise<Result<{ verdict: PromptVerdict }>> {
    const result = this.#sending.then(async (): Promise<Result<{ verdict: PromptVerdict }>> => {
      const known = this.#prompts.get(promptId);
      if (known) return ok({ verdict: known.verdict });
      if (this.#profile.quirks.input !== 'lines')
        return refuse(
          'wrong-state',
          'no_prompts',
          `${this.#profile.name} takes no prompts; it got its brief at the start.`,
        );
      const frame = JSON.stringify({ promptId, prompt: text } satisfies PromptLine);
      const appended = await this.generation.append(frame);
      if (!appended.ok) return appended;
      this.#notePrompt(frame, appended.value.end);
      return ok({ verdict: 'unconfirmed' });
    });
    this.#sending = result.catch(() => undefined);
    return result;
  }

  async cancelTurn(): Promise<void> {
    // There is no turn to cancel; `stop` ends the program.
  }

  answerPermission(requestId: string): Promise<Result<undefined>> {
    return Promise.resolve(unknownRequest(requestId));
  }

  answerQuestion(requestId: string): Promise<Result<undefined>> {
    return Promise.resolve(unknownRequest(requestId));
  }

  stop(options: StopOptions & { cancelGraceMs?: number } = {}): Promise<StopReport> {
    const { cancelGraceMs: _, ...rest } = options;
    return this.generation.stop({ ...this.#profile.stop, ...rest });
  }

  async detach(): Promise<void> {
    await this.#loop.detach();
    await this.#sending.catch(() => undefined);
    await this.generation.close();
  }

  readLine(line: JournalLine): DriverEvent[] {
    if (this.terminal) return isStart(line) ? this.#announce() : [];
    const text =
      line.kind === 'line'
        ? line.bytes.toString('utf8').slice(0, maxOutputChars)
        : `a line of ${line.end - line.start} bytes was passed over`;
    return [...this.#announce(), { kind: 'noise', text }];
  }

  async advance(): Promise<void> {
    if (!this.terminal && this.generation.look().phase === 'running') this.#loop.emit(this.#announce());
  }

  nextDueAt(): number {
    return this.#isAnnounced || this.terminal ? Infinity : 0;
  }

  finish(): DriverEvent[] {
    const { phase } = this.generation.look();
    if (phase !== 'start-failed') return this.terminal && !this.#isAnnounced ? [noTerminal] : this.#announce();
    return [{ kind: 'start-failed', code: 'no_process', message: 'the process did not come up within 5 s' }];
  }

  /** Running is all the liveness that a program without protocol can give (S-69 R2). */
  #announce(): DriverEvent[] {
    if (this.#isAnnounced) return [];
    this.#isAnnounced = true;
    return [
      { kind: 'peer-seen', agentName: this.#profile.name },
      { kind: 'opened', conversationId: null, mode: null, isResumed: false },
      { kind: 'state', state: 'running' },
    ];
  }

  /** One line in the file for each id, however often it is sent; what is typed stands in no journal. */
  #send(input: TerminalInput): Promise<Result<undefined>> {
    const result = this.#sending.then(async (): Promise<Result<undefined>> => {
      if (this.#inputs.has(input.id)) return ok(undefined);
      const appended = await this.generation.append(JSON.stringify(input));
      if (!appended.ok) return appended;
      this.#noteInput(input.id);
      return ok(undefined);
    });
    this.#sending = result.catch(() => undefined);
    return result;
  }

  #noteInput(id: string): void {
    this.#inputs.add(id);
    const [oldest] = this.#inputs;
    if (this.#inputs.size > maxInputs && oldest !== undefined) this.#inputs.delete(oldest);
  }

  #notePrompt(line: string, end: number): void {
    try {
      const { promptId, id } = JSON.parse(line) as PromptLine & { id?: string };
      if (id !== undefined) this.#noteInput(id);
      else this.#prompts.set(promptId, { end, verdict: 'unconfirmed' });
    } catch {
      // A line that was completed after a crash without its beginning known; nobody waits for it.
    }
  }
}

const noTerminal: DriverEvent = {
  kind: 'start-failed',
  code: 'no_process',
  message: 'the process that was to keep the terminal ended before it had started the program; see its stderr',
};

function isStart(line: JournalLine): boolean {
  return line.kind === 'line' && parseTerminalFrame(line.bytes.toString('utf8'))?.pty === 'started';
}

function unknownRequest(requestId: string): Result<undefined> {
  return refuse(
    'not-found',
    'request_unknown',
    `A program without protocol asks nothing; there is no request ${requestId}.`,
  );
}
