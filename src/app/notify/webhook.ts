import { createHmac } from 'node:crypto';

import { toRfc3339 } from '../../kernel/index.ts';
import { ChannelFault, type Receiver } from './channel.ts';
import { cut, type Letter } from './letter.ts';

/** What a webhook needs; the file that holds it is readable by the operator only. */
export interface WebhookAccess {
  url: string;
  /** Sent as `Authorization: Bearer …`, for servers that ask for one. */
  token?: string | undefined;
  /** Key of the signature. */
  secret: string;
}

const timeoutMs = 15_000;
/** ntfy takes 4,096 bytes of message; longer ones become attachments. */
const maxNtfyBytes = 3_500;

/** Posts each letter to one address, as our JSON or as what an ntfy server takes; signed either way. */
export function openWebhook(
  access: WebhookAccess,
  options: { format: 'json' | 'ntfy'; carriesTexts: boolean; now: () => number },
): Receiver {
  return {
    target: 'webhook',
    carriesTexts: options.carriesTexts,
    canAnswer: false,
    async send(letter, signal) {
      const { url, body } =
        options.format === 'ntfy' ? ntfyRequest(access.url, letter) : jsonRequest(access.url, letter);
      const response = await post(url, body, {
        'content-type': 'application/json',
        'user-agent': 'chantier',
        'idempotency-key': letter.key,
        'chantier-signature': signatureOf(access.secret, body, options.now()),
        ...(access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }),
        signal,
      });
      if (response.ok) return {};
      throw faultOf(response);
    },
  };
}

/** `t=<epoch seconds>,v1=<hex HMAC-SHA-256 of "<t>.<body>">`: the time keeps an old message from being played again. */
export function signatureOf(secret: string, body: string, nowMs: number): string {
  const time = Math.floor(nowMs / 1000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}

function jsonRequest(url: string, letter: Letter): { url: string; body: string } {
  const { key, subject, kind, isReminder, priority, title, link, at } = letter;
  const body = {
    key,
    subject,
    kind,
    reminder: isReminder,
    priority,
    title,
    text: plainText(letter),
    url: link,
    at: toRfc3339(at),
  };
  return { url, body: JSON.stringify(body) };
}

/** ntfy takes JSON at the root of its server, with the topic inside. */
function ntfyRequest(address: string, letter: Letter): { url: string; body: string } {
  const url = new URL(address);
  const segments = url.pathname.split('/').filter(Boolean);
  const topic = segments.pop() ?? '';
  url.pathname = `/${segments.join('/')}`;
  const priorities = { urgent: 5, high: 4, normal: 3 };
  let message = plainText(letter);
  while (Buffer.byteLength(message) > maxNtfyBytes) message = cut(message, Math.floor(message.length * 0.9));
  const body = {
    topic: decodeURIComponent(topic),
    title: letter.title,
    message,
    priority: priorities[letter.priority],
    click: letter.link,
    tags: ['chantier', letter.kind],
  };
  return { url: url.href, body: JSON.stringify(body) };
}

/** Texts of others are quoted line by line, so that none can pose as ours. */
function plainText(letter: Letter): string {
  return letter.parts
    .map((part) =>
      'ours' in part
        ? part.ours
        : part.theirs
            .split('\n')
            .map((line) => `> ${line}`)
            .join('\n'),
    )
    .join('\n');
}

async function post(
  url: string,
  body: string,
  { signal, ...headers }: Record<string, string | AbortSignal> & { signal: AbortSignal },
): Promise<{ ok: boolean; status: number; retryAfter: string | null }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: headers as Record<string, string>,
      redirect: 'manual', // another place was not agreed to
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    return { ok: response.ok, status: response.status, retryAfter: response.headers.get('retry-after') };
  } catch (error) {
    throw new ChannelFault('webhook_unreachable', `The webhook cannot be reached (${codeOf(error)}).`);
  }
}

function faultOf({ status, retryAfter }: { status: number; retryAfter: string | null }): ChannelFault {
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  if (status === 429)
    return new ChannelFault(
      'webhook_busy',
      'The webhook wants to be left alone for a while.',
      Math.min(3_600, seconds ?? 60) * 1000,
    );
  if (status === 400 || status === 413 || status === 422)
    return new ChannelFault('message_rejected', `The webhook does not take this message (HTTP ${status}).`);
  return new ChannelFault('webhook_refuses', `The webhook answers with HTTP ${status}.`);
}

/** A code of the system, never a message: that could hold the address. */
export function codeOf(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: unknown; cause?: { code?: unknown } };
  const found = cause?.code ?? code;
  return typeof found === 'string' && /^[A-Z_0-9]{2,40}$/.test(found) ? found : (name ?? 'unknown');
}
