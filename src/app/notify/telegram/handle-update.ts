import type { CallbackQuery, Message, Update } from 'grammy/types';

import { ChannelFault } from '../channel.ts';
import { cut } from '../letter.ts';
import { findOwner, listOwners } from '../owners.ts';
import { answerByReply } from './answer-questions.ts';
import { type Conversation, say, type Turn } from './conversation.ts';
import { obeyCommand, readCommand } from './obey-command.ts';
import { copyByTag, decisionsOfMessage } from './sent-messages.ts';
import { settleByPhone } from './settle-by-phone.ts';

/** Longest line that a pressed button shows. */
const maxButtonText = 190;

/** Does what one update asks for, exactly once in its effect: everything decided carries the update's own key. */
export async function handleUpdate(talk: Conversation, update: Update): Promise<void> {
  const key = `telegram-${talk.bot.botId}-${update.update_id}`;
  if (update.callback_query) await pressButton(talk, update.callback_query, key);
  // Edits change nothing: what was said first counts.
  else if (update.message) await hear(talk, update.message, key);
}

async function hear(talk: Conversation, message: Message, key: string): Promise<void> {
  const id = String(message.from?.id ?? '');
  const owner = await findOwner(talk.ctx.store.read, id);
  const isPrivate = message.chat.type === 'private' && String(message.chat.id) === id;
  if (!owner || !isPrivate || message.from?.is_bot === true || message.sender_chat) {
    if (!owner && isPrivate && (await tellOwnId(talk, message, id))) return;
    await talk.refused(owner ? 'not_private' : 'not_owner', id);
    return;
  }
  const turn: Turn = { ...talk, owner, key };
  if (message.forward_origin || message.via_bot) {
    await talk.refused('forwarded', id);
    await say(turn, 'What is forwarded or made by another bot decides nothing here.', message.message_id);
    return;
  }
  const { text } = message;
  if (text === undefined) {
    await say(turn, 'Only text is read here; /help says what can be done.');
    return;
  }
  const command = readCommand(text);
  if (command) await obeyCommand(turn, { ...command, messageId: message.message_id });
  else if (message.reply_to_message)
    await answerByReply(turn, {
      to: message.reply_to_message.message_id,
      // What Telegram says that our own bot wrote; a quote of anybody else says nothing.
      ...(String(message.reply_to_message.from?.id) === talk.bot.botId
        ? { toText: message.reply_to_message.text }
        : {}),
      text,
      messageId: message.message_id,
    });
  else await say(turn, 'To answer, reply to the message of the question. /pending lists what is open, /help the rest.');
}

/** Before anybody is on the owner list, a person may learn their own id; afterwards strangers get nothing. */
async function tellOwnId(talk: Conversation, message: Message, id: string): Promise<boolean> {
  const name = readCommand(message.text ?? '')?.name;
  if (name !== 'whoami' && name !== 'start') return false;
  if ((await listOwners(talk.ctx.store.read)).length > 0) return false;
  await bestEffort(
    talk.bot.sendMessage(
      { chatId: id, text: `Your Telegram id is ${id}. At the terminal: chantier notify owner add ${id}` },
      talk.signal,
    ),
  );
  return true;
}

async function pressButton(talk: Conversation, query: CallbackQuery, key: string): Promise<void> {
  const id = String(query.from.id);
  const owner = await findOwner(talk.ctx.store.read, id);
  const { message } = query;
  const isPrivate = message?.chat.type === 'private' && String(message.chat.id) === id;
  if (!owner || !message || !isPrivate) {
    await talk.refused(owner ? 'not_private' : 'not_owner', id);
    return;
  }
  const turn: Turn = { ...talk, owner, key };
  const match = /^(approve|refuse):([a-z0-9]{4,32})(?::([0-9a-f]{10}))?$/.exec(query.data ?? '');
  const ids = await decisionsOfMessage(talk.ctx, owner.telegramId, message.message_id);
  const [decisionId = '', tag] = match?.slice(2) ?? [];
  // A message whose number was lost with a killed server is known by the tag that it shares with its copy.
  const copy = ids === undefined && tag !== undefined ? await copyByTag(talk.ctx, id, { decisionId, tag }) : undefined;
  if (!match || (ids?.includes(decisionId) !== true && copy === undefined)) {
    await talk.refused('button_of_no_message', id);
    await answer(turn, query.id, 'This button belongs to no message of ours. /pending shows what is open.');
    return;
  }
  const verdict = match[1] as 'approve' | 'refuse';
  const outcome = await settleByPhone(turn, decisionId, { verdict });
  await answer(turn, query.id, outcome.text);
  if (outcome.isClosed) await bestEffort(talk.bot.removeButtons(owner.telegramId, message.message_id, talk.signal));
  await say(turn, outcome.text, message.message_id);
  if (!outcome.isClosed || copy?.messageId === undefined) return;
  await bestEffort(talk.bot.removeButtons(owner.telegramId, copy.messageId, talk.signal));
  await say(turn, outcome.text, copy.messageId);
}

function answer(turn: Turn, queryId: string, text: string): Promise<void> {
  return bestEffort(turn.bot.answerButton(queryId, cut(text, maxButtonText), turn.signal));
}

/** What only makes it nicer may fail. */
async function bestEffort(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ChannelFault)) throw error;
  });
}
