import { createHash } from 'node:crypto';

import type { Json } from '../../../kernel/index.ts';
import { isRecord, parseAgentJson, textOf } from '../read-json.ts';

type Fields = Record<string, unknown>;

/**
 * One line of either file, classified. Control requests and responses go both ways, and with `--replay-user-messages` the
 * agent repeats our own responses on its stdout: ours are told apart by the form of their id (`ownCallNumber`), never by place.
 */
export type ControlFrame =
  /** A request that wants a response: ours, or the agent's (`can_use_tool`, `elicitation`, …). */
  | { kind: 'request'; id: string; subtype: string; request: Fields }
  /** The answer to a request. */
  | { kind: 'response'; id: string; error: string | undefined; response: Fields }
  /** The sender does not want the answer to its request any more. */
  | { kind: 'withdrawal'; id: string }
  /** Everything else: prompts, and what the agent tells (`system`, `assistant`, `user`, `result`, …). */
  | { kind: 'message'; type: string; message: Fields }
  | { kind: 'invalid'; text: string };

/** Member of our own in a prompt's frame; the agent ignores it. */
const promptIdMember = 'chantier_prompt_id';
const ownIdPattern = /^chantier-(\d{1,15})$/;
const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const quotedInvalidChars = 500;

/** Classifies one line. */
export function parseControlFrame(line: Buffer): ControlFrame {
  const text = line.toString('utf8');
  const invalid: ControlFrame = { kind: 'invalid', text: text.slice(0, quotedInvalidChars) };
  let value: unknown;
  try {
    value = parseAgentJson(text);
  } catch {
    return invalid;
  }
  const type = isRecord(value) ? textOf(value.type) : undefined;
  if (!isRecord(value) || type === undefined) return invalid;
  const id = textOf(value.request_id);
  switch (type) {
    case 'control_request':
      if (id === undefined || !isRecord(value.request)) return invalid;
      return { kind: 'request', id, subtype: textOf(value.request.subtype) ?? '', request: value.request };
    case 'control_response':
      return readResponse(value.response) ?? invalid;
    case 'control_cancel_request':
      return id === undefined ? invalid : { kind: 'withdrawal', id };
    default:
      return { kind: 'message', type, message: value };
  }
}

function readResponse(value: unknown): ControlFrame | undefined {
  if (!isRecord(value)) return undefined;
  const id = textOf(value.request_id);
  if (id === undefined) return undefined;
  const error = value.subtype === 'error' ? (textOf(value.error) ?? 'no message') : undefined;
  return { kind: 'response', id, error, response: isRecord(value.response) ? value.response : {} };
}

/** A request of ours; `number` grows in the order of the file. */
export function requestFrame(number: number, subtype: string, members: Record<string, Json> = {}): string {
  return JSON.stringify({
    type: 'control_request',
    request_id: `chantier-${number}`,
    request: { subtype, ...members },
  });
}

/** Our answer to a request of the agent. */
export function responseFrame(id: string, response: Record<string, Json>): string {
  return JSON.stringify({ type: 'control_response', response: { subtype: 'success', request_id: id, response } });
}

/** Our refusal to serve a request of the agent. */
export function errorFrame(id: string, error: string): string {
  return JSON.stringify({ type: 'control_response', response: { subtype: 'error', request_id: id, error } });
}

/** A prompt. The agent names it by its uuid wherever it speaks of it, and takes one uuid only once. */
export function promptFrame(promptId: string, text: string): string {
  return JSON.stringify({
    type: 'user',
    uuid: uuidOf(promptId),
    session_id: '',
    parent_tool_use_id: null,
    message: { role: 'user', content: [{ type: 'text', text }] },
    [promptIdMember]: promptId,
  });
}

/** The prompt id in a frame of ours, if it is a prompt. */
export function promptIdOf(message: Fields): string | undefined {
  return message.type === 'user' ? textOf(message[promptIdMember]) : undefined;
}

/** The uuid that a prompt has with the agent: its own id where that is one, else one made of it. */
export function uuidOf(promptId: string): string {
  if (uuidPattern.test(promptId)) return promptId.toLowerCase();
  const hex = createHash('sha256').update(promptId).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The number of a request of ours, `undefined` for one of the agent. */
export function ownCallNumber(id: string): number | undefined {
  const digits = ownIdPattern.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
