import type { DriverEvent, TurnOutcome } from '../driver-event.ts';
import { isRecord, numberOf, textOf } from '../read-json.ts';
import { readLimit } from '../read-limit.ts';

type Limit = Extract<DriverEvent, { kind: 'limit' }>;

/**
 * How a turn ended. `is_error` alone says whether it failed: a refused model API comes with `subtype: "success"`. A turn that
 * we cut also says `is_error`, so that is looked for first: by its own word, or by our interrupt.
 */
export function readOutcome(result: Record<string, unknown>, wasInterrupted: boolean): TurnOutcome {
  const reason = textOf(result.terminal_reason);
  const isAborted = reason === undefined ? result.subtype !== 'success' : reason.startsWith('aborted');
  if (isAborted && (reason !== undefined || wasInterrupted)) return { stopReason: 'cancelled' };
  if (result.is_error === true)
    return { error: { code: numberOf(result.api_error_status) ?? 0, message: textIn(result) } };
  if (result.subtype === 'error_max_turns') return { stopReason: 'max_turn_requests' };
  const stop = textOf(result.stop_reason);
  return { stopReason: stop === 'max_tokens' || stop === 'refusal' ? stop : 'end_turn' };
}

/** The text of a result: the answer, or what went wrong. */
export function textIn(result: Record<string, unknown>): string {
  const errors = Array.isArray(result.errors) ? result.errors.filter((each) => typeof each === 'string') : [];
  return textOf(result.result) ?? (errors.join('; ') || 'no message');
}

/** The provider's limit that a failed turn speaks of: by the status of the model API where it is clear, else by its text. */
export function readResultLimit(outcome: TurnOutcome, nowMs: number): Limit[] {
  if (!('error' in outcome)) return [];
  const { code, message } = outcome.error;
  if (code === 401 || code === 403) return [{ kind: 'limit', reason: 'auth', asserted: true }];
  if (code === 402) return [{ kind: 'limit', reason: 'billing', asserted: true }];
  if (/not logged in|please run \/login|invalid api key/i.test(message))
    return [{ kind: 'limit', reason: 'auth', asserted: false }];
  const [fromText] = readLimit({ code: 0, message }, nowMs);
  if (code === 429 || code === 529)
    return [fromText ? { ...fromText, asserted: true } : { kind: 'limit', reason: 'rate', asserted: true }];
  // Texts are believed only where the API answered at all: a failed tool may speak of limits too.
  return fromText && (code !== 0 || /limit reached|hit your/i.test(message)) ? [fromText] : [];
}

/** Tokens and cost so far. Both are totals of the process, or of the conversation where it was resumed. */
export function readUsage(result: Record<string, unknown>, contextUsed: number, isOnPlan = false): DriverEvent[] {
  const models = isRecord(result.modelUsage) ? Object.values(result.modelUsage).filter(isRecord) : [];
  if (models.length === 0) return [];
  const sum = (...names: string[]): number =>
    models.reduce((total, model) => total + names.reduce((part, name) => part + (numberOf(model[name]) ?? 0), 0), 0);
  const cost = numberOf(result.total_cost_usd);
  return [
    {
      kind: 'usage',
      usedTokens: contextUsed,
      contextTokens: Math.max(...models.map((model) => numberOf(model.contextWindow) ?? 0)),
      ...(cost === undefined ? {} : { cost: { amount: cost, currency: 'USD' } }),
      ...(isOnPlan ? { isOnPlan } : {}),
    },
    {
      kind: 'tokens',
      input: sum('inputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens'),
      output: sum('outputTokens'),
      cached: sum('cacheReadInputTokens'),
    },
  ];
}

/** How much of the context a message of the model stands on; `undefined` for subagents and for texts of the agent itself. */
export function readContextUsed(message: Record<string, unknown>): number | undefined {
  const body = isRecord(message.message) ? message.message : {};
  if (textOf(message.parent_tool_use_id) !== undefined || body.model === '<synthetic>' || !isRecord(body.usage))
    return undefined;
  const usage = body.usage;
  return ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'].reduce(
    (total, name) => total + (numberOf(usage[name]) ?? 0),
    0,
  );
}
