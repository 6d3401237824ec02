import type { Result } from '../../kernel/index.ts';
import type {
  DriverEvent,
  PermissionChoice,
  PermissionView,
  QuestionAnswer,
  QuestionView,
  TurnState,
} from './driver-event.ts';
import type { PromptLog } from './prompt-log.ts';

/** Something that the agent waits for a human's word on. */
export type Asked = { permission: PermissionView } | { question: QuestionView };

/** The way from a fresh process to an open conversation, as far as a link has to know it. */
export interface ConversationOpening {
  readonly isOpen: boolean;
  readonly hasFailed: boolean;
  /** Whether the mode was set and the agent has yet to say that it is. */
  readonly isReadingBack: boolean;
  readonly conversationId: string | null;
  readonly mode: string | null;
  /** The mode did not read back in time. */
  giveUpOnMode(): void;
  /** Events since the last call. */
  takeNews(): DriverEvent[];
}

/**
 * A protocol's rules as a function of the two files: `sent` takes the lines of `in.ndjson`, `received` those of `out.ndjson`,
 * in the order of each file; which of the two is read first does not matter. It does no I/O: the link appends what it asks
 * for and hands every frame back through `sent`.
 */
export interface Conversation<Frame> {
  readonly opening: ConversationOpening;
  readonly prompts: PromptLog;
  readonly turn: TurnState;
  /** Whether the protocol has something that works as a ping. */
  readonly answersPings: boolean;
  /** Whether the agent is known to answer pings. */
  readonly hasAnsweredPing: boolean;
  /** Reads one line of either file; never throws. */
  parse(line: Buffer): Frame;
  /** Whether a line of the journal changes nothing once its events are applied: reading it again would only slow adoption. */
  isInert(line: Buffer): boolean;
  /** Whether a line of the journal is worth nothing any more once it was applied, so that it may be freed. Default: `isInert`. */
  isSpent?(line: Buffer): boolean;
  isPingAnswer(frame: Frame): boolean;
  /** Open permissions and questions, oldest first: "requests without response" (decision 6). */
  asked(): Asked[];
  /** Takes in a frame of ours. */
  sent(frame: Frame): DriverEvent[];
  /** Takes in a frame of the agent; `start` is its offset in the journal. */
  received(frame: Frame, start: number): DriverEvent[];
  /** What has to be sent now and was not yet: the next step of the opening, and answers that need nobody. */
  dueFrames(): string[];
  /** A prompt, and a ping behind it whose answer proves that the prompt was read; without the ping where there is none. */
  promptFrames(promptId: string, text: string): [prompt: string, ping: string | undefined];
  pingFrame(): string;
  /** Cancels the turn and answers everything open with cancelled. */
  cancelFrames(): string[];
  permissionFrame(requestId: string, choice: PermissionChoice | 'cancelled'): Result<string | undefined>;
  questionFrame(requestId: string, answer: QuestionAnswer): Result<string | undefined>;
  /** The process is gone: what is still open ends. */
  end(): DriverEvent[];
}
