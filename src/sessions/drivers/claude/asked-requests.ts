import type { Json, Result } from '../../../kernel/index.ts';
import { ok, refuse } from '../../../kernel/index.ts';
import type { Asked } from '../conversation.ts';
import type { PermissionChoice, QuestionAnswer } from '../driver-event.ts';
import type { IncomingRequest } from '../incoming-requests.ts';
import { isRecord, textOf } from '../read-json.ts';
import { readAskedCall } from './read-message.ts';
import { answerUserQuestion, askTool, readUserQuestion } from './user-question.ts';

/** Rules that the agent would remember are not offered: each call is judged anew. */
const choices: PermissionChoice[] = ['allow_once', 'reject_once'];

/** Whether a request asks for leave to use a tool. */
export function isPermission({ method, params }: IncomingRequest): boolean {
  return method === 'can_use_tool' && params.tool_name !== askTool;
}

/** Whether a request asks a question: by the agent's own tool, or a form of an MCP server. */
export function isQuestion({ method, params }: IncomingRequest): boolean {
  if (method === 'can_use_tool') return params.tool_name === askTool;
  return method === 'elicitation' && params.mode !== 'url';
}

/** What a request asks; `undefined` for what is not served. */
export function describeRequest(request: IncomingRequest): Asked | undefined {
  const { requestId, method, params } = request;
  if (isPermission(request)) return { permission: { requestId, call: readAskedCall(params), choices } };
  if (!isQuestion(request)) return undefined;
  if (method === 'can_use_tool') return { question: readUserQuestion(requestId, params) };
  return {
    question: { requestId, text: textOf(params.message) ?? '', schema: (params.requested_schema ?? null) as Json },
  };
}

/** The result for a permission. A yes gives the tool's input back as it was asked for: nothing is changed in it. */
export function permissionAnswer(
  { requestId, params }: IncomingRequest,
  choice: PermissionChoice | 'cancelled',
): Result<Record<string, Json>> {
  switch (choice) {
    case 'allow_once':
      return ok({ behavior: 'allow', updatedInput: (isRecord(params.input) ? params.input : {}) as Json });
    case 'cancelled':
      return ok({ behavior: 'deny', message: 'The turn was cancelled.', interrupt: true });
    case 'reject_once':
    case 'reject_always':
      return ok({ behavior: 'deny', message: 'Not permitted. Go on without it, or say what you need and why.' });
    case 'allow_always':
      return refuse(
        'invalid',
        'choice_not_offered',
        `Request ${requestId} offers no ${choice}; choose one of: ${choices.join(', ')}.`,
      );
  }
}

/** The result for a question. */
export function questionAnswer({ method, params }: IncomingRequest, answer: QuestionAnswer): Record<string, Json> {
  return method === 'can_use_tool' ? answerUserQuestion(params, answer) : { ...answer };
}
