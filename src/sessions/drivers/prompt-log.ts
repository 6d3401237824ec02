import type { DriverEvent, PromptVerdict, TurnOutcome } from './driver-event.ts';

/** One prompt of a generation. */
export interface SentPrompt {
  promptId: string;
  /** Its number among our frames that wait for something (for ACP the id of its request); grows in the order of the file. */
  callId: number;
  verdict: PromptVerdict;
  outcome?: TurnOutcome;
  /** Where its frame ends in `in.ndjson`, when this server appended it. */
  end?: number;
  /** Whether the feeder was seen to have handed it on. */
  wasFed: boolean;
}

/** The prompts of one generation, what is known of their delivery (decision 8) and how their turns ended. */
export class PromptLog {
  readonly #prompts = new Map<string, SentPrompt>();

  add(promptId: string, callId: number): void {
    if (!this.#prompts.has(promptId))
      this.#prompts.set(promptId, { promptId, callId, verdict: 'unconfirmed', wasFed: false });
  }

  find(promptId: string): SentPrompt | undefined {
    return this.#prompts.get(promptId);
  }

  all(): SentPrompt[] {
    return [...this.#prompts.values()];
  }

  /** The prompt whose turn runs; at most one, the oldest without an outcome. */
  open(): SentPrompt | undefined {
    return this.all().find((prompt) => prompt.outcome === undefined);
  }

  /**
   * The agent did something that it can only do after it had read everything up to our request `beforeCallId` (default:
   * that it works on the open prompt).
   */
  confirm(beforeCallId = Infinity): DriverEvent[] {
    const prompt = this.open();
    if (!prompt || prompt.verdict === 'delivered' || prompt.callId >= beforeCallId) return [];
    prompt.verdict = 'delivered';
    return [{ kind: 'prompt-verdict', promptId: prompt.promptId, verdict: 'delivered' }];
  }

  /** The answer to a prompt came: its turn is over. */
  finish(callId: number, outcome: TurnOutcome): DriverEvent[] {
    const prompt = this.all().find((each) => each.callId === callId && !each.outcome);
    if (!prompt) return [];
    const confirmed = prompt === this.open() ? this.confirm() : [];
    prompt.outcome = outcome;
    return [...confirmed, { kind: 'turn-ended', promptId: prompt.promptId, outcome }];
  }

  /** The turn ended before the agent had begun with the prompt: it was not delivered. */
  refuse(callId: number, outcome: TurnOutcome): DriverEvent[] {
    const prompt = this.all().find((each) => each.callId === callId && !each.outcome);
    if (!prompt) return [];
    prompt.outcome = outcome;
    const { promptId } = prompt;
    if (prompt.verdict === 'delivered') return [{ kind: 'turn-ended', promptId, outcome }];
    prompt.verdict = 'not_delivered';
    return [
      { kind: 'prompt-verdict', promptId, verdict: 'not_delivered' },
      { kind: 'turn-ended', promptId, outcome },
    ];
  }

  /** The process is gone: what never left the file was not delivered; the rest stays as it was. */
  end(): DriverEvent[] {
    const prompt = this.open();
    if (!prompt || prompt.verdict === 'delivered') return [];
    prompt.verdict = prompt.wasFed ? 'unconfirmed' : 'not_delivered';
    return [{ kind: 'prompt-verdict', promptId: prompt.promptId, verdict: prompt.verdict }];
  }
}
