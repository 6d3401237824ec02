import type { Result } from '../../../kernel/index.ts';
import { forLog, refuse } from '../../../kernel/index.ts';
import type { Asked, Conversation, ConversationOpening } from '../conversation.ts';
import type { DriverEvent, StartFailure, TurnOutcome, TurnState } from '../driver-event.ts';
import { PromptLog } from '../prompt-log.ts';
import { isRecord, numberOf, parseAgentJson, textOf } from '../read-json.ts';
import { readLimit } from '../read-limit.ts';
import { readItem } from './read-item.ts';
import { orderFrame } from './turn-runner.ts';

/** One line of either file: an order of ours, an event of codex or of the runner, or no JSON object at all. */
export type CodexFrame = { kind: 'object'; value: Record<string, unknown> } | { kind: 'invalid'; text: string };

const quotedInvalidChars = 500;
const limitStatus = /last status: (\d{3})|unexpected status (\d{3})/;

/**
 * One thread of `codex exec --json` as a function of the two files. It asks nobody, so there are no permissions and no
 * questions; nothing answers a ping; a turn ends by `turn.completed` or `turn.failed`, and a process that ends without
 * either has failed, whatever its exit code says.
 */
export class CodexConversation implements Conversation<CodexFrame> {
  readonly answersPings = false;
  readonly hasAnsweredPing = false;
  readonly prompts = new PromptLog();
  readonly #mode: string | null;
  readonly #isResumed: boolean;
  readonly #now: () => number;
  readonly #cancelled = new Set<string>();
  #thread: string | null;
  #isOpen = false;
  #failure: StartFailure | undefined;
  #hasBegun = false;
  /** Turns that the runner has begun. */
  #turns = 0;
  #nextNumber = 1;
  #turn: TurnState = 'idle';

  /** `mode` is what the command line says; codex does not tell it. */
  constructor(options: { mode: string | null; resumeId: string | null }, now: () => number) {
    this.#mode = options.mode;
    this.#thread = options.resumeId;
    this.#isResumed = options.resumeId !== null;
    this.#now = now;
  }

  get opening(): ConversationOpening {
    return {
      isOpen: this.#isOpen && !this.#failure,
      hasFailed: this.#failure !== undefined,
      isReadingBack: false,
      conversationId: this.#thread,
      mode: this.#mode,
      giveUpOnMode: () => undefined,
      takeNews: () => [],
    };
  }

  get turn(): TurnState {
    return this.prompts.open() ? 'running' : 'idle';
  }

  parse(line: Buffer): CodexFrame {
    const text = line.toString('utf8');
    try {
      const value = parseAgentJson(text);
      if (isRecord(value)) return { kind: 'object', value };
    } catch {
      // Below.
    }
    return { kind: 'invalid', text: text.slice(0, quotedInvalidChars) };
  }

  isInert(): boolean {
    return false;
  }

  isPingAnswer(): boolean {
    return false;
  }

  asked(): Asked[] {
    return [];
  }

  sent(frame: CodexFrame): DriverEvent[] {
    const promptId = frame.kind === 'object' ? textOf(frame.value.promptId) : undefined;
    if (frame.kind !== 'object' || promptId === undefined) return [];
    if (frame.value.kind === 'cancel') this.#cancelled.add(promptId);
    if (frame.value.kind === 'prompt') {
      this.prompts.add(promptId, this.#nextNumber);
      this.#nextNumber += 1;
    }
    return this.#changedTurn();
  }

  received(frame: CodexFrame): DriverEvent[] {
    if (frame.kind === 'invalid') return frame.text.trim() === '' ? [] : [{ kind: 'noise', text: frame.text }];
    return [...this.#read(frame.value), ...this.#changedTurn()];
  }

  dueFrames(): string[] {
    return [];
  }

  promptFrames(promptId: string, text: string): [string, undefined] {
    return [orderFrame({ kind: 'prompt', promptId, thread: this.#thread ?? '', text }), undefined];
  }

  pingFrame(): string {
    throw new Error('codex exec answers no ping');
  }

  cancelFrames(): string[] {
    const open = this.prompts.open();
    return open ? [orderFrame({ kind: 'cancel', promptId: open.promptId })] : [];
  }

  permissionFrame(requestId: string): Result<undefined> {
    return asksNothing(requestId);
  }

  questionFrame(requestId: string): Result<undefined> {
    return asksNothing(requestId);
  }

  end(): DriverEvent[] {
    return [...this.prompts.end(), ...this.#changedTurn()];
  }

  #read(event: Record<string, unknown>): DriverEvent[] {
    switch (event.type) {
      case 'chantier.ready':
        return this.#readReady(event);
      case 'chantier.turn':
        this.#hasBegun = false;
        this.#turns += 1;
        return [];
      case 'chantier.turn-exited':
        return this.#readExit(event);
      case 'thread.started':
        return [...this.#readThread(event), ...this.#begin()];
      case 'turn.started':
        return this.#begin();
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return isRecord(event.item) ? this.#readItem(String(event.type), event.item) : [];
      case 'turn.completed':
        return [...readTokens(event.usage), ...this.#finish({ stopReason: 'end_turn' })];
      case 'turn.failed':
        return this.#readFailure(event);
      case 'error':
        return [{ kind: 'noise', text: textOf(event.message) ?? '' }];
      default:
        return [];
    }
  }

  /** The runner stands: all that a program which starts with a prompt only can say before one. */
  #readReady(event: Record<string, unknown>): DriverEvent[] {
    this.#isOpen = true;
    const version = textOf(event.version)?.trim();
    return [
      { kind: 'peer-seen', agentName: 'codex', ...(version ? { agentVersion: forLog(version) } : {}) },
      { kind: 'opened', conversationId: this.#thread, mode: this.#mode, isResumed: this.#isResumed },
    ];
  }

  #readThread(event: Record<string, unknown>): DriverEvent[] {
    const thread = textOf(event.thread_id);
    if (thread === undefined || thread === this.#thread) return [];
    this.#thread = thread;
    return [{ kind: 'conversation', conversationId: thread }];
  }

  #begin(): DriverEvent[] {
    this.#hasBegun = true;
    return this.prompts.confirm();
  }

  /** Texts come whole with `item.completed`; calls show as soon as they start. */
  #readItem(type: string, item: Record<string, unknown>): DriverEvent[] {
    const isText = item.type === 'agent_message' || item.type === 'reasoning' || item.type === 'error';
    // Their ids begin anew with every process.
    const id = `${this.#turns}.${textOf(item.id) ?? ''}`;
    return isText && type !== 'item.completed' ? [] : readItem(id, item);
  }

  #readFailure(event: Record<string, unknown>): DriverEvent[] {
    const error = isRecord(event.error) ? event.error : {};
    const message = textOf(error.message) ?? 'no message';
    const status = limitStatus.exec(message);
    const code = Number(status?.[1] ?? status?.[2] ?? 0);
    const limits: DriverEvent[] =
      code === 401 || code === 403
        ? [{ kind: 'limit', reason: 'auth', asserted: true }]
        : readLimit({ code: 0, message }, this.#now());
    return [...limits, ...this.#finish({ error: { code, message } })];
  }

  /** Ends the turn that codex did not end itself: cancelled by us, died, or never begun, which no further try would change. */
  #readExit(event: Record<string, unknown>): DriverEvent[] {
    const open = this.prompts.open();
    if (!open || open.promptId !== event.promptId) return [];
    if (this.#cancelled.has(open.promptId)) return this.#finish({ stopReason: 'cancelled' });
    const code = numberOf(event.code) ?? 0;
    const message = `codex ended with ${code} and without an end of its turn`;
    if (this.#hasBegun) return this.#finish({ error: { code, message } });
    this.#failure = this.#isResumed ? 'cannot_resume' : 'refused';
    return [
      ...this.prompts.refuse(open.callId, { error: { code, message } }),
      {
        kind: 'start-failed',
        code: this.#failure,
        message: `codex ended with ${code} before it began; what it said stands in its error output`,
      },
    ];
  }

  #finish(outcome: TurnOutcome): DriverEvent[] {
    const open = this.prompts.open();
    return open ? this.prompts.finish(open.callId, outcome) : [];
  }

  #changedTurn(): DriverEvent[] {
    const state = this.turn;
    if (state === this.#turn) return [];
    this.#turn = state;
    return [{ kind: 'state', state }];
  }
}

/** Tokens of the whole thread, as codex counts them. */
function readTokens(usage: unknown): DriverEvent[] {
  if (!isRecord(usage)) return [];
  const count = (name: string): number => numberOf(usage[name]) ?? 0;
  const cached = count('cached_input_tokens');
  return [{ kind: 'tokens', input: count('input_tokens'), output: count('output_tokens'), cached }];
}

function asksNothing(requestId: string): Result<undefined> {
  return refuse('not-found', 'request_unknown', `codex exec asks nothing; there is no request ${requestId}.`);
}
