import type { SessionUpdate } from '@agentclientprotocol/sdk';

import type { DriverEvent } from '../driver-event.ts';
import { isRecord, numberOf, textOf } from '../read-json.ts';
import { readLimitWindow, readPlanWindow } from '../read-limit.ts';
import { readToolCall } from './read-tool-call.ts';

type UpdateKind = SessionUpdate['sessionUpdate'];

/** The kinds that are part of a turn; others (usage, titles, commands) may come at any time. */
const turnKinds = new Set<string>([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
] satisfies UpdateKind[]);

/** Whether an update of this kind shows that the agent works on a prompt. */
export function isPartOfTurn(update: Record<string, unknown>): boolean {
  return turnKinds.has(textOf(update.sessionUpdate) ?? '');
}

/**
 * One `session/update` as events. Modes are the mode check's business. Kinds that nobody acts on (commands, titles) give
 * none: the journal keeps them.
 */
export function readUpdate(update: Record<string, unknown>, replayed: boolean): DriverEvent[] {
  switch (update.sessionUpdate as UpdateKind) {
    case 'agent_message_chunk':
      return readMessage('agent', update, replayed);
    case 'user_message_chunk':
      return readMessage('user', update, replayed);
    case 'agent_thought_chunk':
      return readMessage('thought', update, replayed);
    case 'tool_call':
    case 'tool_call_update':
      return [{ kind: 'tool-call', call: readToolCall(update), replayed }];
    case 'plan':
      return [{ kind: 'plan', entries: readPlan(update.entries), replayed }];
    case 'usage_update':
      return readUsage(update);
    case 'notice':
      return readNotice(update, replayed);
    default:
      return [];
  }
}

function readMessage(
  role: 'agent' | 'user' | 'thought',
  update: Record<string, unknown>,
  replayed: boolean,
): DriverEvent[] {
  const messageId = textOf(update.messageId);
  const text = readContent(update.content);
  return [{ kind: 'message', role, ...(messageId === undefined ? {} : { messageId }), text, replayed }];
}

/** Text as it is; everything else by its name, since a transcript shows that it was there. */
function readContent(content: unknown): string {
  if (!isRecord(content)) return '';
  if (content.type === 'text') return textOf(content.text) ?? '';
  return `[${textOf(content.type) ?? 'content'}]`;
}

function readPlan(entries: unknown): { text: string; status: string }[] {
  if (!Array.isArray(entries)) return [];
  return entries
    .filter(isRecord)
    .map((entry) => ({ text: textOf(entry.content) ?? '', status: textOf(entry.status) ?? 'pending' }));
}

function readUsage(update: Record<string, unknown>): DriverEvent[] {
  if (typeof update.used !== 'number' || typeof update.size !== 'number') return [];
  const usage: DriverEvent = { kind: 'usage', usedTokens: update.used, contextTokens: update.size };
  const cost = isRecord(update.cost) ? update.cost : {};
  if (typeof cost.amount === 'number' && typeof cost.currency === 'string')
    usage.cost = { amount: cost.amount, currency: cost.currency };
  const meta = isRecord(update._meta) ? update._meta : {};
  const window = meta['_claude/rateLimit'];
  return [usage, ...readPlanWindow(window), ...readLimitWindow(window)];
}

/** Tokens of the whole session so far, as newer agents say them with the end of a turn (`usage` of the answer). */
export function readTurnTokens(result: Record<string, unknown>): DriverEvent[] {
  if (!isRecord(result.usage)) return [];
  const { usage } = result;
  const count = (name: string): number => numberOf(usage[name]) ?? 0;
  const output = count('outputTokens');
  const cached = count('cachedReadTokens');
  const input = Math.max(count('inputTokens') + cached + count('cachedWriteTokens'), count('totalTokens') - output);
  return [{ kind: 'tokens', input, output, cached }];
}

function readNotice(update: Record<string, unknown>, replayed: boolean): DriverEvent[] {
  const text = [textOf(update.title), textOf(update.description)].filter(Boolean).join(': ');
  return [{ kind: 'message', role: 'agent', text, replayed }];
}
