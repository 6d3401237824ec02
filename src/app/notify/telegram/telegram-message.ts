import type { InlineKeyboardMarkup, MessageEntity } from 'grammy/types';

import { ChannelFault, type Receiver, targetOf } from '../channel.ts';
import { cut, type Letter } from '../letter.ts';
import { tagOf } from './sent-messages.ts';
import type { BotApi, OutgoingMessage } from './bot-api.ts';

/** Longest text of a message, in UTF-16 units. */
export const maxMessageLength = 4096;

/** One owner's private chat as a receiver; the chat of a person has that person's id. */
export function openTelegramReceiver(api: () => Promise<BotApi>, owner: string, carriesTexts: boolean): Receiver {
  return {
    target: targetOf(owner),
    carriesTexts,
    canAnswer: true,
    async send(letter, signal) {
      const bot = await api().catch(() => {
        throw new ChannelFault('telegram_unavailable', 'The Telegram client cannot be loaded.');
      });
      const { messageId } = await bot.sendMessage({ chatId: owner, ...formOf(letter) }, signal);
      return { remoteId: messageId };
    },
  };
}

/**
 * The letter as text with marks that we place. Nothing is parsed as markup, and a text of somebody else stands in a block of
 * its own, where Telegram makes no links, mentions or commands of it, each line behind a bar: it cannot pose as ours.
 */
export function formOf(letter: Letter): Omit<OutgoingMessage, 'chatId'> {
  const sign = { urgent: '🔴', high: '🔔', normal: '•' }[letter.priority];
  const head = `${sign} ${letter.title}`;
  const entities: MessageEntity[] = [{ type: 'bold', offset: 0, length: head.length }];
  const foot = `\n${letter.link}`;
  const ours = letter.parts.reduce((sum, part) => sum + ('ours' in part ? Math.min(part.ours.length, 2000) + 1 : 8), 0);
  const theirs = letter.parts.filter((part) => 'theirs' in part).length;
  const room = maxMessageLength - head.length - foot.length - ours;
  const share = theirs === 0 ? 0 : Math.max(40, Math.floor(room / theirs));
  let text = head;
  for (const part of letter.parts) {
    text += '\n';
    if ('ours' in part) {
      text += cut(part.ours, 2000);
      continue;
    }
    const block = cut(barred(part.theirs), share);
    entities.push({ type: 'pre', offset: text.length, length: block.length });
    text += block;
  }
  text = cut(text, maxMessageLength - foot.length) + foot;
  const buttons = keyboardOf(letter);
  const kept = entities.filter((entity) => entity.offset + entity.length <= text.length - foot.length);
  return { text, entities: kept, ...(buttons ? { buttons } : {}) };
}

/** Each line behind a bar. */
export function barred(text: string): string {
  return text
    .split('\n')
    .map((line) => `│ ${line}`)
    .join('\n');
}

function keyboardOf(letter: Letter): InlineKeyboardMarkup | undefined {
  if (letter.buttons.length === 0) return undefined;
  const row = letter.buttons.map(({ label, verdict, decisionId }) => ({
    text: label,
    callback_data: `${verdict}:${decisionId}:${tagOf(letter.key)}`,
  }));
  return { inline_keyboard: [row] };
}
