import type { Json, Result } from '../../../kernel/index.ts';
import { ok, refuse } from '../../../kernel/index.ts';
import type { DriverEvent, PermissionChoice, QuestionAnswer, QuestionView, TurnState } from '../driver-event.ts';
import type { Asked, Conversation } from '../conversation.ts';
import { IncomingRequests } from '../incoming-requests.ts';
import type { IncomingRequest, Settlement } from '../incoming-requests.ts';
import { PromptLog } from '../prompt-log.ts';
import { isRecord, textOf } from '../read-json.ts';
import { readLimit } from '../read-limit.ts';
import { Opening } from './opening.ts';
import type { OpeningOptions } from './opening.ts';
import { choosePermission, readPermission } from './permission-choice.ts';
import { isPartOfTurn, readTurnTokens, readUpdate } from './read-update.ts';
import type { RpcFrame } from './rpc-frame.ts';
import {
  errorFrame,
  invalidParams,
  methodNotFound,
  notificationFrame,
  parseFrame,
  pingMethod,
  promptIdMember,
  requestCancelled,
  requestFrame,
  resultFrame,
} from './rpc-frame.ts';

/** How much of a line is looked at to pass it over. */
const headBytes = 400;
const openingBrace = 0x7b;
/** Updates that change nothing once their events are applied. */
const inertKinds =
  /"sessionUpdate":"(?:agent_message_chunk|agent_thought_chunk|user_message_chunk|tool_call|usage_update)/;

/** A request of ours that is not answered yet. */
interface OpenCall {
  method: string;
}

/**
 * One conversation over ACP v1, as a function of the two files: `sent` takes the frames of `in.ndjson`, `received` those of
 * `out.ndjson`, in the order of each file; which of the two is read first does not matter. It does no I/O: the link appends
 * what it asks for and hands every frame back through `sent`.
 */
export class AcpConversation implements Conversation<RpcFrame> {
  readonly answersPings = true;
  readonly opening: Opening;
  readonly prompts = new PromptLog();
  readonly #requests = new IncomingRequests();
  readonly #calls = new Map<number, OpenCall>();
  readonly #now: () => number;
  #settledNow: DriverEvent[] = [];
  #nextId = 1;
  #turn: TurnState = 'idle';
  #hasAnsweredPing = false;

  constructor(options: OpeningOptions, now: () => number) {
    this.opening = new Opening(options);
    this.#now = now;
  }

  /** Whether the agent is known to answer pings. */
  get hasAnsweredPing(): boolean {
    return this.#hasAnsweredPing;
  }

  get turn(): TurnState {
    if (this.asked().length > 0) return 'requires_action';
    return this.prompts.open() ? 'running' : 'idle';
  }

  /** Open permissions and questions, oldest first: "requests without response" (decision 6). */
  asked(): Asked[] {
    return this.#requests.open().flatMap((request): Asked[] => {
      if (request.isWithdrawn) return [];
      if (isPermission(request)) return [{ permission: readPermission(request.requestId, request.params) }];
      return isQuestion(request) ? [{ question: readQuestion(request) }] : [];
    });
  }

  /** Takes in a frame of ours. */
  sent(frame: RpcFrame): DriverEvent[] {
    if (frame.kind === 'request') this.#noteCall(frame);
    else if (frame.kind === 'result') this.#noteAnswer(frame.id, isCancelled(frame.result) ? 'cancel' : 'answer');
    else if (frame.kind === 'error') this.#noteAnswer(frame.id, 'cancel');
    return [...this.#takeSettled(), ...this.#changedTurn()];
  }

  /** Takes in a frame of the agent; `start` is its offset in the journal. */
  received(frame: RpcFrame, start: number): DriverEvent[] {
    return [...this.#read(frame, start), ...this.#takeSettled(), ...this.opening.takeNews(), ...this.#changedTurn()];
  }

  /** What has to be sent now and was not yet: the next step of the opening, and answers that need nobody. */
  dueFrames(): string[] {
    const step = this.opening.nextCall();
    const call = step ? [requestFrame(this.#nextId, step.method, step.params)] : [];
    return [...call, ...this.#requests.open().flatMap((request) => automaticAnswer(request) ?? [])];
  }

  /** A prompt, and a ping behind it whose answer proves that the prompt was read (frames are read in order). */
  promptFrames(promptId: string, text: string): [string, string] {
    const prompt = requestFrame(this.#nextId, 'session/prompt', {
      sessionId: this.opening.conversationId ?? '',
      prompt: [{ type: 'text', text }],
      _meta: { [promptIdMember]: promptId },
    });
    return [prompt, requestFrame(this.#nextId + 1, pingMethod, {})];
  }

  pingFrame(): string {
    return requestFrame(this.#nextId, pingMethod, {});
  }

  /** Cancels the turn and answers everything open: on a cancel the client must answer each permission with cancelled. */
  cancelFrames(): string[] {
    const sessionId = this.opening.conversationId;
    const cancel = sessionId && this.prompts.open() ? [notificationFrame('session/cancel', { sessionId })] : [];
    const answers = this.#requests.open().flatMap((request) => cancelAnswer(request) ?? []);
    return [...cancel, ...answers];
  }

  /** The frame that answers a permission. */
  permissionFrame(requestId: string, choice: PermissionChoice | 'cancelled'): Result<string | undefined> {
    const found = this.#findOpen(requestId, isPermission);
    if (!found.ok || !found.value) return found as Result<undefined>;
    const { rpcId, params } = found.value;
    const result = choosePermission(requestId, params, choice);
    return result.ok ? ok(resultFrame(rpcId, result.value)) : result;
  }

  /** The frame that answers a question. */
  questionFrame(requestId: string, answer: QuestionAnswer): Result<string | undefined> {
    const found = this.#findOpen(requestId, isQuestion);
    if (!found.ok || !found.value) return found as Result<undefined>;
    return ok(resultFrame(found.value.rpcId, { ...answer }));
  }

  parse(line: Buffer): RpcFrame {
    return parseFrame(line);
  }

  isInert(line: Buffer): boolean {
    const head = line.toString('latin1', 0, headBytes);
    return head.includes('"method":"session/update"') && inertKinds.test(head);
  }

  /** What is no frame, and answers to pings too, or one a second would keep everything between them. */
  isSpent(line: Buffer): boolean {
    if (this.isInert(line) || line[0] !== openingBrace) return true;
    if (line.length > headBytes) return false;
    const frame = parseFrame(line);
    return frame.kind === 'error' && frame.error.code === methodNotFound;
  }

  isPingAnswer(frame: RpcFrame): boolean {
    const isResponse = frame.kind === 'error' || frame.kind === 'result';
    return isResponse && this.#calls.get(Number(frame.id))?.method === pingMethod;
  }

  /** The process is gone. */
  end(): DriverEvent[] {
    const settled = this.#requests
      .end()
      .filter((request) => isPermission(request) || isQuestion(request))
      .map(({ requestId }) => ({ kind: 'request-settled', requestId, by: 'end' }) as const);
    return [...settled, ...this.prompts.end()];
  }

  #takeSettled(): DriverEvent[] {
    return this.#settledNow.splice(0);
  }

  #noteCall(frame: Extract<RpcFrame, { kind: 'request' }>): void {
    if (typeof frame.id !== 'number') return;
    this.#nextId = Math.max(this.#nextId, frame.id + 1);
    this.#calls.set(frame.id, { method: frame.method });
    this.opening.noteCall(frame.method);
    const meta = isRecord(frame.params._meta) ? frame.params._meta : {};
    const promptId = textOf(meta[promptIdMember]);
    if (frame.method === 'session/prompt' && promptId !== undefined) this.prompts.add(promptId, frame.id);
  }

  #noteAnswer(rpcId: number | string, by: Settlement): void {
    const request = this.#requests.settle(rpcId, by);
    if (request && (isPermission(request) || isQuestion(request))) this.#announceSettled(request.requestId);
  }

  #announceSettled(requestId: string): void {
    const by = this.#requests.settlementOf(requestId);
    if (by) this.#settledNow.push({ kind: 'request-settled', requestId, by });
  }

  #read(frame: RpcFrame, start: number): DriverEvent[] {
    switch (frame.kind) {
      case 'invalid':
        return [{ kind: 'noise', text: frame.text }];
      case 'notification':
        return this.#readNotification(frame.method, frame.params);
      case 'request':
        return this.#readRequest(frame, start);
      default:
        return this.#readResponse(frame);
    }
  }

  #readNotification(method: string, params: Record<string, unknown>): DriverEvent[] {
    if (method === '$/cancel_request') this.#requests.withdraw(params.requestId);
    if (method !== 'session/update' || !isRecord(params.update)) return [];
    const { update } = params;
    const isReplayed = this.opening.isLoading;
    this.opening.readUpdate(update);
    const confirmed = !isReplayed && isPartOfTurn(update) ? this.prompts.confirm() : [];
    return [...confirmed, ...readUpdate(update, isReplayed)];
  }

  #readRequest(frame: Extract<RpcFrame, { kind: 'request' }>, start: number): DriverEvent[] {
    const { id: rpcId, method, params } = frame;
    const requestId = `${JSON.stringify(rpcId)}@${start}`;
    const request: IncomingRequest = { requestId, rpcId, method, params, isWithdrawn: false };
    const settled = this.#requests.receive(request);
    if (automaticAnswer(request) !== undefined) return [{ kind: 'request-refused', method: method.slice(0, 100) }];
    if (settled) this.#announceSettled(requestId);
    const confirmed = this.prompts.confirm();
    if (isPermission(request))
      return [...confirmed, { kind: 'permission-asked', permission: readPermission(requestId, params) }];
    return [...confirmed, { kind: 'question-asked', question: readQuestion(request) }];
  }

  #readResponse(frame: Extract<RpcFrame, { kind: 'result' | 'error' }>): DriverEvent[] {
    const id = Number(frame.id);
    const call = this.#calls.get(id);
    if (!call) return [];
    this.#calls.delete(id);
    if (call.method === pingMethod) {
      this.#hasAnsweredPing = true;
      return this.prompts.confirm(id);
    }
    if (call.method === 'session/prompt') return this.#readTurnEnd(id, frame);
    this.opening.readResponse(call.method, frame);
    return [];
  }

  #readTurnEnd(id: number, frame: Extract<RpcFrame, { kind: 'result' | 'error' }>): DriverEvent[] {
    if (frame.kind === 'result') {
      const said = textOf(frame.result.stopReason) ?? 'end_turn';
      // A machine word: it stands in the log for good, where no text of an agent belongs.
      const stopReason = /^[a-z_]{1,40}$/.test(said) ? said : 'other';
      return [...readTurnTokens(frame.result), ...this.prompts.finish(id, { stopReason })];
    }
    const { code, message } = frame.error;
    return [...readLimit(frame.error, this.#now()), ...this.prompts.finish(id, { error: { code, message } })];
  }

  #changedTurn(): DriverEvent[] {
    const state = this.turn;
    if (state === this.#turn) return [];
    this.#turn = state;
    return [{ kind: 'state', state }];
  }

  /** The open request, or `undefined` in an ok answer when we have answered it before: answering again is safe. */
  #findOpen(requestId: string, isWanted: (request: IncomingRequest) => boolean): Result<IncomingRequest | undefined> {
    const request = this.#requests.find(requestId);
    if (request && isWanted(request)) return ok(request);
    const settlement = this.#requests.settlementOf(requestId);
    if (settlement === 'answer') return ok(undefined);
    return settlement
      ? refuse(
          'wrong-state',
          'request_settled',
          `Request ${requestId} is closed (${settlement}); nothing waits for it.`,
        )
      : refuse(
          'not-found',
          'request_unknown',
          `This process has asked no such thing as ${requestId}; see what is open.`,
        );
  }
}

function isPermission(request: IncomingRequest): boolean {
  return request.method === 'session/request_permission';
}

function isQuestion(request: IncomingRequest): boolean {
  return request.method === 'elicitation/create' && request.params.mode !== 'url';
}

function readQuestion({ requestId, params }: IncomingRequest): QuestionView {
  const callId = textOf(params.toolCallId);
  return {
    requestId,
    text: textOf(params.message) ?? '',
    schema: (params.requestedSchema ?? null) as Json,
    ...(callId === undefined ? {} : { callId }),
  };
}

/** We declared neither files nor terminals (design section 4); what nobody serves is refused, never left open. */
function automaticAnswer(request: IncomingRequest): string | undefined {
  if (request.isWithdrawn) return errorFrame(request.rpcId, requestCancelled, 'cancelled by the agent');
  if (isPermission(request) || isQuestion(request)) return undefined;
  if (request.method === 'elicitation/create')
    return errorFrame(request.rpcId, invalidParams, 'only elicitations in form mode are supported');
  return errorFrame(request.rpcId, methodNotFound, 'method not found');
}

function cancelAnswer(request: IncomingRequest): string | undefined {
  if (isPermission(request)) return resultFrame(request.rpcId, { outcome: { outcome: 'cancelled' } });
  return isQuestion(request) ? resultFrame(request.rpcId, { action: 'cancel' }) : undefined;
}

function isCancelled(result: Record<string, unknown>): boolean {
  return result.action === 'cancel' || (isRecord(result.outcome) && result.outcome.outcome === 'cancelled');
}
