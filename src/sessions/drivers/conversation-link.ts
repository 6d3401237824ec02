import { setTimeout as sleep } from 'node:timers/promises';

import { ok, refuse } from '../../kernel/index.ts';
import type { Clock, Result } from '../../kernel/index.ts';
import type { AppendedFrame, Generation, JournalLine, JournalReader, StopOptions, StopReport } from '../host/index.ts';
import type { Conversation } from './conversation.ts';
import type { AgentLink, DriverSink, LinkPace, LinkSnapshot } from './driver.ts';
import type { DriverEvent, PermissionChoice, PromptVerdict, QuestionAnswer } from './driver-event.ts';
import { LinkLoop } from './link-loop.ts';
import type { LinkHandler } from './link-loop.ts';
import { Pulse } from './pulse.ts';
import type { PulseContext, RaisedFlags } from './pulse.ts';
import type { SentPrompt } from './prompt-log.ts';

const cancelPollMs = 20;

/** An agent in the hands of this server: its conversation's rules, joined to the files and to time. */
export class ConversationLink<Frame> implements AgentLink, LinkHandler {
  readonly generation: Generation;
  readonly #conversation: Conversation<Frame>;
  readonly #loop: LinkLoop;
  readonly #pulse: Pulse;
  readonly #clock: Clock;
  readonly #pace: LinkPace;
  readonly #stopDefaults: StopOptions;
  /** Frames are built from the conversation's state and must enter it in the order of the file: one sender at a time. */
  #sending: Promise<unknown> = Promise.resolve();
  #promptSentAt = new Map<string, number>();
  #readBackSince: number | undefined;
  #isSendingDue = false;
  #sendFault: unknown;
  /** The frame that is being appended, and the size of the file from which on the agent can have read all of it. */
  #underWay: { end: number; entered: Promise<unknown> } | undefined;

  constructor(parts: {
    generation: Generation;
    conversation: Conversation<Frame>;
    reader: JournalReader;
    sink: DriverSink;
    clock: Clock;
    pace: LinkPace;
    stopDefaults: StopOptions;
    raised?: RaisedFlags;
  }) {
    this.generation = parts.generation;
    this.#conversation = parts.conversation;
    this.#clock = parts.clock;
    this.#pace = parts.pace;
    this.#stopDefaults = parts.stopDefaults;
    this.#pulse = new Pulse(parts.clock, parts.pace, parts.conversation.hasAnsweredPing, parts.raised);
    this.#loop = new LinkLoop(parts.generation, parts.reader, this, parts.sink, parts.clock);
    const open = parts.conversation.prompts.open();
    if (open) this.#promptSentAt.set(open.promptId, parts.clock.monotonic());
  }

  start(): void {
    this.#loop.start();
  }

  snapshot(): LinkSnapshot {
    const { opening, prompts, turn } = this.#conversation;
    const asked = this.#conversation.asked();
    return {
      phase: this.#phase(),
      turn,
      openPromptId: prompts.open()?.promptId ?? null,
      conversationId: opening.conversationId,
      mode: opening.mode,
      permissions: asked.flatMap((each) => ('permission' in each ? [each.permission] : [])),
      questions: asked.flatMap((each) => ('question' in each ? [each.question] : [])),
      prompts: prompts.all().map(describePrompt),
      isUnresponsive: this.#pulse.isUnresponsive,
      isStalled: this.#pulse.isStalled,
      consumedTo: this.#loop.appliedTo,
    };
  }

  isBehind(): boolean {
    return this.#loop.isBehind;
  }

  isSpent(line: Buffer): boolean {
    return this.#conversation.isSpent?.(line) ?? this.#conversation.isInert(line);
  }

  prompt(promptId: string, text: string): Promise<Result<{ verdict: PromptVerdict }>> {
    return this.#inOrder(async () => {
      const { opening, prompts } = this.#conversation;
      const known = prompts.find(promptId);
      if (known) return ok({ verdict: known.verdict });
      const run = this.generation.run;
      if (!opening.isOpen)
        return refuse(
          'wrong-state',
          'not_opened',
          `The conversation of ${run} is not open; wait for it or start anew.`,
        );
      if (prompts.open())
        return refuse('wrong-state', 'turn_open', `${run} works on a prompt; wait for its end or cancel the turn.`);
      const [prompt, ping] = this.#conversation.promptFrames(promptId, text);
      const sent = await this.#send(prompt);
      if (!sent.ok) return sent;
      this.#notePrompt(prompts.find(promptId), sent.value);
      this.#pulse.nudged();
      if (ping !== undefined && (await this.#send(ping)).ok) this.#pulse.pinged();
      return ok({ verdict: 'unconfirmed' });
    });
  }

  cancelTurn(): Promise<void> {
    return this.#inOrder(async () => {
      for (const frame of this.#conversation.cancelFrames()) if (!(await this.#send(frame)).ok) return;
      this.#pulse.nudged();
    });
  }

  answerPermission(requestId: string, choice: PermissionChoice | 'cancelled'): Promise<Result<undefined>> {
    return this.#answer(() => this.#conversation.permissionFrame(requestId, choice));
  }

  answerQuestion(requestId: string, answer: QuestionAnswer): Promise<Result<undefined>> {
    return this.#answer(() => this.#conversation.questionFrame(requestId, answer));
  }

  async stop(options: StopOptions & { cancelGraceMs?: number } = {}): Promise<StopReport> {
    const { cancelGraceMs = 500, ...rest } = options;
    if (this.#isBusy() && !this.generation.latch()) {
      await this.cancelTurn();
      const deadline = performance.now() + cancelGraceMs;
      while (this.#isBusy() && performance.now() < deadline) await sleep(cancelPollMs);
    }
    return this.generation.stop({ ...this.#stopDefaults, ...rest });
  }

  async detach(): Promise<void> {
    await this.#loop.detach();
    await this.#sending.catch(() => undefined);
    await this.generation.close();
  }

  /** A frame that is still torn (a full disk holds it up) has no answer yet, so nothing waits for it. */
  unentered(): Promise<unknown> | undefined {
    const frame = this.#underWay;
    return frame && this.generation.inboxSize() >= frame.end ? frame.entered : undefined;
  }

  readLine(line: JournalLine): DriverEvent[] {
    if (line.kind === 'oversized') {
      this.#pulse.heard(false);
      return [{ kind: 'noise', text: `a line of ${line.end - line.start} bytes was passed over` }];
    }
    const frame = this.#conversation.parse(line.bytes);
    this.#pulse.heard(this.#conversation.isPingAnswer(frame));
    return this.#conversation.received(frame, line.start);
  }

  async advance(): Promise<void> {
    this.#sendDue();
    this.#judgeReadBack();
    this.#judgePrompt();
    for (const flag of this.#pulse.look(this.#pulseContext())) this.#loop.flag(flag);
    const fault = this.#sendFault;
    this.#sendFault = undefined;
    if (fault !== undefined) throw fault;
  }

  nextDueAt(): number {
    const readBack = this.#readBackSince === undefined ? Infinity : this.#readBackSince + this.#pace.modeReadBackMs;
    const prompt = this.#unprovenPrompt();
    const verdict = prompt ? (this.#promptSentAt.get(prompt.promptId) ?? 0) + this.#pace.unconfirmedAfterMs : Infinity;
    const feed = prompt && !prompt.wasFed ? 0 : Infinity;
    return Math.min(readBack, verdict, feed, this.#pulse.nextDueAt(this.#pulseContext()));
  }

  finish(): DriverEvent[] {
    const { phase } = this.generation.look();
    const failed: DriverEvent[] =
      phase === 'start-failed'
        ? [{ kind: 'start-failed', code: 'no_process', message: 'the process did not come up within 5 s' }]
        : [];
    return [...failed, ...this.#conversation.end()];
  }

  #isBusy(): boolean {
    return this.#conversation.turn !== 'idle' && this.generation.look().phase === 'running';
  }

  #phase(): LinkSnapshot['phase'] {
    const { phase } = this.generation.look();
    if (phase === 'ended' || phase === 'start-failed') return 'ended';
    if (this.#conversation.opening.hasFailed) return 'failed';
    if (this.#conversation.opening.isOpen) return 'open';
    return phase === 'launching' ? 'launching' : 'opening';
  }

  #pulseContext(): PulseContext {
    const { opening, prompts, turn } = this.#conversation;
    return {
      isOpen: opening.isOpen && this.#conversation.answersPings,
      isTurnOpen: prompts.open() !== undefined,
      isAsking: turn === 'requires_action',
    };
  }

  /** Not waited for: a full disk may hold a frame up, and what the agent says and its end must be told all the same. */
  #sendDue(): void {
    const isDue = this.#conversation.dueFrames().length > 0 || this.#pulse.isPingDue(this.#pulseContext());
    if (!isDue || this.#isSendingDue || this.generation.latch()) return;
    this.#isSendingDue = true;
    void this.#inOrder(() => this.#sendDueNow())
      .catch((error: unknown) => {
        this.#sendFault = error;
      })
      .finally(() => {
        this.#isSendingDue = false;
        this.#loop.wake();
      });
  }

  async #sendDueNow(): Promise<void> {
    for (let due = this.#conversation.dueFrames(); due.length > 0; due = this.#conversation.dueFrames())
      for (const frame of due) if (!(await this.#send(frame)).ok) return;
    if (!this.#pulse.isPingDue(this.#pulseContext())) return;
    if ((await this.#send(this.#conversation.pingFrame())).ok) this.#pulse.pinged();
  }

  async #answer(build: () => Result<string | undefined>): Promise<Result<undefined>> {
    return this.#inOrder(async () => {
      const frame = build();
      if (!frame.ok) return frame;
      if (frame.value === undefined) return ok(undefined);
      const sent = await this.#send(frame.value);
      if (!sent.ok) return sent;
      this.#pulse.nudged();
      return ok(undefined);
    });
  }

  /**
   * On a loaded machine the agent has read the frame and answered before the write is reported to us: the loop waits for the
   * frame to be entered (`unentered`), or its answer would belong to nothing and be lost.
   */
  async #send(frame: string): Promise<Result<AppendedFrame>> {
    const bytes = Buffer.from(frame);
    const sending = this.generation.append(frame).then((appended) => {
      if (appended.ok) this.#loop.emit(this.#conversation.sent(this.#conversation.parse(bytes)));
      return appended;
    });
    const entered = sending.catch(() => undefined);
    this.#underWay = { end: this.generation.inboxSize() + bytes.length + 1, entered };
    return sending.finally(() => {
      this.#underWay = undefined;
    });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(work);
    this.#sending = result.catch(() => undefined);
    return result;
  }

  #notePrompt(prompt: SentPrompt | undefined, frame: AppendedFrame): void {
    if (!prompt) return;
    prompt.end = frame.end;
    this.#promptSentAt.set(prompt.promptId, this.#clock.monotonic());
  }

  /** The open prompt whose verdict may still change by time. */
  #unprovenPrompt(): SentPrompt | undefined {
    const prompt = this.#conversation.prompts.open();
    return prompt && prompt.verdict !== 'delivered' && this.#promptSentAt.has(prompt.promptId) ? prompt : undefined;
  }

  #judgePrompt(): void {
    const prompt = this.#unprovenPrompt();
    if (!prompt) return;
    // A prompt of an earlier server has stood in the file since before we came.
    if (!prompt.wasFed) prompt.wasFed = this.generation.hasFed(prompt.end ?? this.generation.inboxSize()) === true;
    const sentAt = this.#promptSentAt.get(prompt.promptId) ?? 0;
    if (this.#clock.monotonic() - sentAt < this.#pace.unconfirmedAfterMs) return;
    this.#promptSentAt.delete(prompt.promptId);
    this.#loop.emit([{ kind: 'prompt-verdict', promptId: prompt.promptId, verdict: 'unconfirmed' }]);
  }

  #judgeReadBack(): void {
    const { opening } = this.#conversation;
    if (!opening.isReadingBack) {
      this.#readBackSince = undefined;
      return;
    }
    this.#readBackSince ??= this.#clock.monotonic();
    if (this.#clock.monotonic() - this.#readBackSince < this.#pace.modeReadBackMs) return;
    opening.giveUpOnMode();
    this.#loop.emit(opening.takeNews());
  }
}

function describePrompt({ promptId, verdict, outcome }: SentPrompt): LinkSnapshot['prompts'][number] {
  return { promptId, verdict, ...(outcome ? { outcome } : {}) };
}
