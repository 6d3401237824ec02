import type { Json, Result } from '../../../kernel/index.ts';
import { ok, refuse } from '../../../kernel/index.ts';
import type { PermissionChoice, PermissionView } from '../driver-event.ts';
import { isRecord } from '../read-json.ts';
import { readToolCall } from './read-tool-call.ts';

const choices: readonly PermissionChoice[] = ['allow_once', 'allow_always', 'reject_once', 'reject_always'];

/** A wider yes or no may be given in the narrower form; nothing is ever widened to more than was decided. */
const acceptable: Record<PermissionChoice, readonly PermissionChoice[]> = {
  allow_once: ['allow_once'],
  allow_always: ['allow_always', 'allow_once'],
  reject_once: ['reject_once', 'reject_always'],
  reject_always: ['reject_always', 'reject_once'],
};

/** What a `session/request_permission` asks. */
export function readPermission(requestId: string, params: Record<string, unknown>): PermissionView {
  const call = readToolCall(isRecord(params.toolCall) ? params.toolCall : {});
  return { requestId, call, choices: choices.filter((kind) => findOption(params, kind) !== undefined) };
}

/**
 * The result for a choice, by `kind` and never by the agent's own option ids, which differ from agent to agent. Where no
 * rejection is on offer a rejection is given as cancelled; where the wanted yes is not on offer it is refused.
 */
export function choosePermission(
  requestId: string,
  params: Record<string, unknown>,
  choice: PermissionChoice | 'cancelled',
): Result<Record<string, Json>> {
  const cancelled = { outcome: { outcome: 'cancelled' } };
  if (choice === 'cancelled') return ok(cancelled);
  for (const kind of acceptable[choice]) {
    const optionId = findOption(params, kind);
    if (optionId !== undefined) return ok({ outcome: { outcome: 'selected', optionId } });
  }
  if (choice.startsWith('reject')) return ok(cancelled);
  return refuse(
    'invalid',
    'choice_not_offered',
    `The agent does not offer ${choice} for request ${requestId}; choose one of: ${readPermission(requestId, params).choices.join(', ')}.`,
  );
}

function findOption(params: Record<string, unknown>, kind: PermissionChoice): string | undefined {
  const options = Array.isArray(params.options) ? params.options.filter(isRecord) : [];
  const option = options.find((each) => each.kind === kind && typeof each.optionId === 'string');
  return option?.optionId as string | undefined;
}
