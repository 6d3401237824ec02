import { Fault } from '../../kernel/index.ts';
import type { Letter } from './letter.ts';

/** A way to one human. Sending is at least once: a letter that may have gone out already comes again under its key. */
export interface Receiver {
  /** `webhook`, or `telegram:<owner>`: also the name in `notify_target`. */
  target: string;
  /** Whether texts of agents may go there (`notify.texts`). */
  carriesTexts: boolean;
  /** Whether an answer can come back. */
  canAnswer: boolean;
  /** Sends and gives the receiver's name of the message, where it has one. Throws `ChannelFault`. */
  send(letter: Letter, signal: AbortSignal): Promise<{ remoteId?: string }>;
}

/** Why a receiver was not reached; the message is safe to store and show: no token, no address, no body. */
export class ChannelFault extends Fault {
  /** How long the receiver wants to be left alone; then it is no failure of it. */
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, retryAfterMs?: number) {
    super(code, message, { retryable: true });
    this.name = 'ChannelFault';
    this.retryAfterMs = retryAfterMs;
  }
}

/** Name of the reading side of Telegram among the receivers: how what comes in does. */
export const readingTarget = 'telegram';

/** The receiver's name of an owner: a private chat. */
export const targetOf = (owner: string): string => `telegram:${owner}`;

/** The part before the colon: receivers of one channel share its fate. */
export function channelOf(target: string): string {
  return target.split(':')[0] ?? target;
}
