import type { App } from '../../app.ts';
import type { Caller } from '../../caller.ts';
import type { AppContext } from '../../context.ts';
import { ChannelFault, targetOf } from '../channel.ts';
import { cut, type Letter } from '../letter.ts';
import type { Owner } from '../owners.ts';
import type { BotApi, OutgoingMessage } from './bot-api.ts';
import { formOf, maxMessageLength } from './telegram-message.ts';

/** What handling an update works with. */
export interface Conversation {
  ctx: AppContext;
  app: () => App;
  bot: BotApi;
  /** Counts what had no right here. */
  refused(reason: string, telegramId: string): Promise<void>;
  signal: AbortSignal;
}

/** One update of an owner. */
export interface Turn extends Conversation {
  owner: Owner;
  /** Names the update for good: whatever is done for it is done once. */
  key: string;
}

/** The owner decides as the operator it is mapped to, with an ordinary proof (design section 4). */
export function callerOf({ owner, key, signal }: Turn): Caller {
  return {
    actor: { kind: 'operator', id: owner.userId, channel: 'telegram' },
    proof: 'standing',
    scope: `user:${owner.userId}`,
    idempotencyKey: key,
    signal,
  };
}

/** How often an answer is tried when Telegram asks to wait, and for how long at most. */
const tries = 3;
const longestWaitMs = 30_000;

/** Answers in the owner's chat. Not to arrive undoes nothing: what was decided stays decided. */
export async function say(turn: Turn, text: string, replyTo?: number): Promise<string | undefined> {
  return deliver(turn, {
    chatId: turn.owner.telegramId,
    text: cut(text, maxMessageLength),
    ...(replyTo === undefined ? {} : { replyTo }),
  });
}

/** Sends a letter and remembers it, so that a reply or a button finds what it is about. */
export async function sendLetter(turn: Turn, letter: Letter): Promise<void> {
  const messageId = await deliver(turn, { chatId: turn.owner.telegramId, ...formOf(letter) });
  if (messageId === undefined) return;
  await turn.ctx.store.tx(async (tx) => {
    await tx.db
      .insertInto('notice_message')
      .values({
        key: letter.key,
        target: targetOf(turn.owner.telegramId),
        notices: '[]',
        decisions: JSON.stringify(letter.decisions),
        state: 'sent',
        remote_id: messageId,
        created_at: tx.now,
        sent_at: tx.now,
      })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ remote_id: messageId }))
      .execute();
  });
}

async function deliver(turn: Turn, message: OutgoingMessage): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await turn.bot.sendMessage(message, turn.signal)).messageId;
    } catch (error) {
      if (!(error instanceof ChannelFault)) throw error;
      const waitMs = error.retryAfterMs ?? (error.code === 'message_rejected' ? undefined : 1000 * attempt);
      if (attempt >= tries || waitMs === undefined || waitMs > longestWaitMs || turn.signal.aborted) {
        turn.ctx.log.warn({ code: error.code }, 'an answer by Telegram did not arrive');
        return undefined;
      }
      await pause(waitMs, turn.signal);
    }
  }
}

/** Waits, but not beyond the end of the server. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
