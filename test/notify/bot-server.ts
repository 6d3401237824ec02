import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

/** A message that the bot sent, as a chat shows it. */
export interface Shown {
  message_id: number;
  chat_id: string;
  text: string;
  entities: { type: string; offset: number; length: number }[];
  buttons: { text: string; callback_data: string }[];
  replyTo: number | undefined;
}

/** An answer that a test puts in place of the next one of a method; `taken`: it is done, and the connection ends before the answer. */
export type Failure = { status: number; retryAfter?: number } | 'cut' | 'taken';

/** A Bot API on 127.0.0.1: real HTTP, long polling, updates until they are confirmed by an offset, 409 for a second reader. */
export interface BotServer {
  url: string;
  token: string;
  sent: Shown[];
  /** Lines shown at pressed buttons. */
  toasts: string[];
  /** Every request line; tests look for what must not be in it. */
  calls: { method: string; body: Record<string, unknown> }[];
  /** Answers the next calls of a method otherwise, one each. */
  failNext(method: string, ...failures: Failure[]): void;
  /** A private message of a user; gives its update id. */
  write(from: number, text: string, more?: object): number;
  /** A press on a button of a message in the user's own chat. */
  press(from: number, messageId: number, data: string): number;
  /** Any update. */
  push(update: object): number;
  /** Gives updates from this id on again, as after a lost confirmation. */
  replayFrom(updateId: number): void;
  /** Resolves when the bot has confirmed everything that was pushed. */
  confirmed(): Promise<void>;
  /** Waits for a sent message that is as wanted. */
  shown(wanted: (message: Shown) => boolean): Promise<Shown>;
  close(): Promise<void>;
}

export async function startBotServer(): Promise<BotServer> {
  const token = '4711:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  const sent: Shown[] = [];
  const toasts: string[] = [];
  const calls: BotServer['calls'] = [];
  const failures = new Map<string, Failure[]>();
  const listeners = new Set<() => void>();
  let updates: { update_id: number }[] = [];
  let kept: { update_id: number }[] = [];
  let nextUpdate = 1000;
  let nextMessage = 1;
  let confirmedTo = 0;
  let reader: (() => void) | undefined;

  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const until = <T>(probe: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = probe();
        if (found === undefined) return;
        listeners.delete(look);
        clearTimeout(overdue);
        resolve(found);
      };
      const overdue = setTimeout(
        () => reject(new Error(`not seen; sent: ${JSON.stringify(sent.map((one) => one.text))}`)),
        15_000,
      );
      listeners.add(look);
      look();
    });

  const getUpdates = (body: Record<string, unknown>, request: IncomingMessage, response: ServerResponse): void => {
    if (reader) {
      reply(
        response,
        { ok: false, error_code: 409, description: 'Conflict: terminated by other getUpdates request' },
        409,
      );
      return;
    }
    const offset = Number(body.offset ?? 0);
    if (offset > 0) {
      updates = updates.filter((update) => update.update_id >= offset);
      confirmedTo = Math.max(confirmedTo, offset - 1);
      changed();
    }
    const give = (): void => {
      clearTimeout(timer);
      listeners.delete(look);
      reader = undefined;
      if (!response.writableEnded) reply(response, { ok: true, result: updates.slice(0, 100) });
    };
    const look = (): void => {
      if (updates.length > 0) give();
    };
    const timer = setTimeout(give, Number(body.timeout ?? 0) * 1000);
    reader = give;
    request.socket.once('close', give);
    listeners.add(look);
    look();
  };

  const methods: Record<string, (body: Record<string, unknown>) => unknown> = {
    sendMessage(body) {
      const markup = body.reply_markup as { inline_keyboard?: Shown['buttons'][] } | undefined;
      const reference = body.reply_parameters as { message_id: number } | undefined;
      const shown: Shown = {
        message_id: nextMessage++,
        chat_id: String(body.chat_id),
        text: String(body.text),
        entities: (body.entities ?? []) as Shown['entities'],
        buttons: (markup?.inline_keyboard ?? []).flat(),
        replyTo: reference?.message_id,
      };
      if (body.parse_mode !== undefined) throw new Error('no markup is ever parsed');
      if (shown.text.length > 4096 || shown.text === '') return { error_code: 400, description: 'message is too long' };
      sent.push(shown);
      return { message_id: shown.message_id, date: 0, chat: { id: Number(shown.chat_id), type: 'private' } };
    },
    answerCallbackQuery(body) {
      toasts.push(String(body.text));
      return true;
    },
    editMessageReplyMarkup(body) {
      const message = sent.find((one) => one.message_id === body.message_id);
      if (message) message.buttons = [];
      return true;
    },
  };

  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, bot, method = ''] = (request.url ?? '').split('/');
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
    calls.push({ method, body });
    const failure = failures.get(method)?.shift();
    if (failure === 'taken') methods[method]?.(body);
    if (failure === 'cut' || failure === 'taken') {
      changed();
      request.socket.destroy();
      return;
    }
    if (failure) {
      const parameters = failure.retryAfter === undefined ? {} : { parameters: { retry_after: failure.retryAfter } };
      reply(
        response,
        { ok: false, error_code: failure.status, description: 'as the test wants', ...parameters },
        failure.status,
      );
      changed();
      return;
    }
    if (bot !== `bot${token}`) {
      reply(response, { ok: false, error_code: 401, description: 'Unauthorized' }, 401);
      return;
    }
    if (method === 'getUpdates') {
      getUpdates(body, request, response);
      return;
    }
    const result = methods[method]?.(body);
    if (result !== null && typeof result === 'object' && 'error_code' in result) {
      reply(response, { ok: false, ...result }, 400);
    } else reply(response, { ok: true, result });
    changed();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    reader?.();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);

  const push = (update: object): number => {
    const whole = { update_id: nextUpdate++, ...update };
    updates.push(whole);
    kept.push(whole);
    changed();
    return whole.update_id;
  };
  const person = (id: number): object => ({ id, is_bot: false, first_name: `User ${id}` });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    sent,
    toasts,
    calls,
    failNext: (method, ...next) => void failures.set(method, [...(failures.get(method) ?? []), ...next]),
    push,
    write: (from, text, more = {}) =>
      push({
        message: {
          message_id: 100_000 + nextUpdate,
          date: 0,
          chat: { id: from, type: 'private', first_name: 'x' },
          from: person(from),
          text,
          ...more,
        },
      }),
    press: (from, messageId, data) =>
      push({
        callback_query: {
          id: `q${nextUpdate}`,
          from: person(from),
          chat_instance: '1',
          data,
          message: { message_id: messageId, date: 0, chat: { id: from, type: 'private', first_name: 'x' } },
        },
      }),
    replayFrom(updateId) {
      updates = kept.filter((update) => update.update_id >= updateId);
      confirmedTo = updateId - 1;
      changed();
    },
    async confirmed() {
      await until(() => (confirmedTo >= nextUpdate - 1 ? true : undefined));
    },
    shown: (wanted) => until(() => sent.find(wanted)),
    close,
  };
}

function reply(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
