import type { DriverEvent } from '../driver-event.ts';
import type { PromptLog, SentPrompt } from '../prompt-log.ts';
import { recordsOf, textOf } from '../read-json.ts';
import { uuidOf } from './control-frame.ts';

/**
 * Which of the agent's words belong to which prompt. It repeats a prompt only when the model begins to answer, says by
 * newer `command_lifecycle` messages that it took one in, and answers an interrupt before or after the turn's result.
 */
export class TurnMarks {
  readonly #prompts: PromptLog;
  /** Prompts whose turn has begun, by the agent's word. */
  readonly #begun = new Set<string>();
  /** The number of our newest interrupt: prompts before it were cut by it. */
  #interruptedAt = 0;

  constructor(prompts: PromptLog) {
    this.#prompts = prompts;
  }

  noteInterrupt(number: number): void {
    this.#interruptedAt = Math.max(this.#interruptedAt, number);
  }

  wasInterrupted(prompt: SentPrompt | undefined): boolean {
    return prompt !== undefined && prompt.callId < this.#interruptedAt;
  }

  /** The agent repeats a prompt as it takes it up: delivered. */
  readReplay(message: Record<string, unknown>): DriverEvent[] {
    const prompt = this.#openBy([textOf(message.uuid)]);
    if (!prompt) return [];
    this.#begun.add(prompt.promptId);
    return this.#prompts.confirm();
  }

  /** `queued` proves that the prompt was read; `cancelled` before its turn began is all that will ever be said of it. */
  readLifecycle(message: Record<string, unknown>): DriverEvent[] {
    const prompt = this.#openBy([textOf(message.command_uuid)]);
    if (!prompt) return [];
    if (message.state === 'cancelled' && !this.#begun.has(prompt.promptId)) return this.#withdraw(prompt);
    if (message.state === 'started') this.#begun.add(prompt.promptId);
    return this.#prompts.confirm();
  }

  /** The answer to an interrupt names the prompts that it took out of the queue: no result will come for them. */
  readInterrupted(response: Record<string, unknown>): DriverEvent[] {
    const cancelled = Array.isArray(response.cancelled) ? response.cancelled.map(textOf) : [];
    const prompt = this.#openBy(cancelled);
    return prompt ? this.#withdraw(prompt) : [];
  }

  /** The prompt whose turn a result ends: by the uuids in it; older versions name none, there the begun or cut one. */
  promptOf(result: Record<string, unknown>): SentPrompt | undefined {
    const open = this.#prompts.open();
    if (!open) return undefined;
    const named = [
      result.user_message_uuid,
      ...(Array.isArray(result.user_message_uuids) ? result.user_message_uuids : []),
    ];
    const uuids = named.flatMap((each) => textOf(each) ?? []);
    if (uuids.length > 0) return this.#openBy(uuids);
    const isOwnTurn = recordsOf([result.origin]).every((origin) => origin.kind === 'human' || origin.kind === 'user');
    return isOwnTurn && (this.#begun.has(open.promptId) || this.wasInterrupted(open)) ? open : undefined;
  }

  #openBy(uuids: readonly (string | undefined)[]): SentPrompt | undefined {
    const open = this.#prompts.open();
    return open && uuids.includes(uuidOf(open.promptId)) ? open : undefined;
  }

  #withdraw(prompt: SentPrompt): DriverEvent[] {
    return this.#prompts.finish(prompt.callId, { stopReason: 'cancelled' });
  }
}
