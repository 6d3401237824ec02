import type { Api } from 'grammy';
import type { InlineKeyboardMarkup, MessageEntity, Update } from 'grammy/types';

import { ChannelFault } from '../channel.ts';
import { codeOf } from '../webhook.ts';

/** The few calls that are made, with faults that hold neither token nor text. */
export interface BotApi {
  /** The part of the token before the colon: names the bot. */
  readonly botId: string;
  /** Waits up to `waitSeconds` for updates from `offset` on. */
  getUpdates(offset: number, waitSeconds: number, signal: AbortSignal): Promise<Update[]>;
  sendMessage(message: OutgoingMessage, signal: AbortSignal): Promise<{ messageId: string }>;
  /** Shows a line at the button that was pressed. */
  answerButton(queryId: string, text: string, signal: AbortSignal): Promise<void>;
  /** Takes the buttons off a message. */
  removeButtons(chatId: string, messageId: number, signal: AbortSignal): Promise<void>;
}

export interface OutgoingMessage {
  chatId: string;
  text: string;
  entities?: MessageEntity[];
  buttons?: InlineKeyboardMarkup;
  replyTo?: number;
}

/** The form of a token: number, colon, letters. */
export const tokenPattern = /^\d{3,20}:[A-Za-z0-9_-]{20,100}$/;

/** Opens the Bot API at `apiRoot`. grammY is loaded only where a bot is set up. */
export async function openBotApi(options: { token: string; apiRoot: string }): Promise<BotApi> {
  const { Api, GrammyError, HttpError } = await import('grammy');
  const api = new Api(options.token, { apiRoot: options.apiRoot.replace(/\/+$/, ''), timeoutSeconds: 60 });

  const call = async <T>(signal: AbortSignal, make: (api: Api, signal: never) => Promise<T>): Promise<T> => {
    try {
      return await make(api, signal as never);
    } catch (error) {
      if (error instanceof GrammyError) throw faultOf(error);
      // The message of what lies below names the address, and the token in it.
      if (error instanceof HttpError)
        throw new ChannelFault('telegram_unreachable', `Telegram cannot be reached (${codeOf(error.error)}).`);
      throw new ChannelFault('telegram_unreachable', `Telegram cannot be reached (${codeOf(error)}).`);
    }
  };

  return {
    botId: options.token.split(':')[0] ?? '',
    getUpdates: (offset, waitSeconds, signal) =>
      call(signal, (bot, end) =>
        bot.getUpdates({ offset, timeout: waitSeconds, allowed_updates: ['message', 'callback_query'] }, end),
      ),
    async sendMessage({ chatId, text, entities, buttons, replyTo }, signal) {
      const sent = await call(signal, (bot, end) =>
        bot.sendMessage(
          chatId,
          text,
          {
            link_preview_options: { is_disabled: true },
            ...(entities ? { entities } : {}),
            ...(buttons ? { reply_markup: buttons } : {}),
            ...(replyTo === undefined
              ? {}
              : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
          },
          end,
        ),
      );
      return { messageId: String(sent.message_id) };
    },
    async answerButton(queryId, text, signal) {
      await call(signal, (bot, end) => bot.answerCallbackQuery(queryId, { text, show_alert: true }, end));
    },
    async removeButtons(chatId, messageId, signal) {
      await call(signal, (bot, end) => bot.editMessageReplyMarkup(chatId, messageId, {}, end));
    },
  };
}

/** What Telegram's answer means for us; its own words are left out, since they may repeat what was sent. */
function faultOf(error: { error_code: number; parameters: { retry_after?: number } }): ChannelFault {
  const wait = error.parameters.retry_after;
  switch (error.error_code) {
    case 429:
      return new ChannelFault(
        'telegram_busy',
        'Telegram wants to be left alone for a while.',
        Math.min(3600, wait ?? 30) * 1000,
      );
    case 409:
      return new ChannelFault(
        'telegram_conflict',
        'Another program reads the messages of this bot: end it, or take a bot of its own for this instance.',
      );
    case 401:
    case 404:
      return new ChannelFault(
        'telegram_token',
        'Telegram refuses the token of the bot: set a new one with "chantier notify telegram".',
      );
    case 403:
      return new ChannelFault(
        'telegram_blocked',
        'The owner has not written to the bot yet, or has blocked it: send it /start.',
      );
    case 400:
      return new ChannelFault('message_rejected', 'Telegram does not take this message.');
    default:
      return new ChannelFault('telegram_failing', `Telegram answers with error ${error.error_code}.`);
  }
}
