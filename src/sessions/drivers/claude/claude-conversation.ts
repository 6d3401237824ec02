import type { Json, Result } from '../../../kernel/index.ts';
import { ok, refuse } from '../../../kernel/index.ts';
import type { Asked, Conversation } from '../conversation.ts';
import type { DriverEvent, PermissionChoice, QuestionAnswer, TurnState } from '../driver-event.ts';
import { IncomingRequests } from '../incoming-requests.ts';
import type { IncomingRequest, Settlement } from '../incoming-requests.ts';
import { PromptLog } from '../prompt-log.ts';
import { isRecord, textOf } from '../read-json.ts';
import type { ClaudeOpeningOptions } from './claude-opening.ts';
import { ClaudeOpening } from './claude-opening.ts';
import type { ControlFrame } from './control-frame.ts';
import {
  errorFrame,
  ownCallNumber,
  parseControlFrame,
  promptFrame,
  promptIdOf,
  requestFrame,
  responseFrame,
} from './control-frame.ts';
import { describeRequest, isPermission, isQuestion, permissionAnswer, questionAnswer } from './asked-requests.ts';
import { readAssistant, readUser } from './read-message.ts';
import { readContextUsed, readOutcome, readResultLimit, readUsage, textIn } from './read-result.ts';
import { readLimitWindow, readPlanWindow } from '../read-limit.ts';
import { TurnMarks } from './turn-marks.ts';

/** Not served by any version: every one answers with an error, at any time, also while it asks. */
const pingSubtype = '_chantier_ping';
/** Pieces of messages that come whole as well. */
const inertHead = '{"type":"stream_event"';

type Message = Extract<ControlFrame, { kind: 'message' }>;

/**
 * One conversation of headless Claude Code (`-p`, stream-json both ways) as a function of the two files. A result ends the
 * open prompt's turn only if it is that prompt's: the agent also starts turns by itself, when a task in its background ends.
 */
export class ClaudeConversation implements Conversation<ControlFrame> {
  readonly answersPings = true;
  readonly opening: ClaudeOpening;
  readonly prompts = new PromptLog();
  readonly #marks = new TurnMarks(this.prompts);
  readonly #requests = new IncomingRequests();
  readonly #calls = new Map<number, string>();
  readonly #now: () => number;
  #settledNow: DriverEvent[] = [];
  #nextNumber = 1;
  #turn: TurnState = 'idle';
  #hasAnsweredPing = false;
  #contextUsed = 0;
  #isLimitTold = false;
  /** It says at each start where its key comes from; none = a log-in whose plan pays. */
  #isOnPlan = false;

  constructor(options: ClaudeOpeningOptions, now: () => number) {
    this.opening = new ClaudeOpening(options);
    this.#now = now;
  }

  get hasAnsweredPing(): boolean {
    return this.#hasAnsweredPing;
  }

  get turn(): TurnState {
    if (this.asked().length > 0) return 'requires_action';
    return this.prompts.open() ? 'running' : 'idle';
  }

  parse(line: Buffer): ControlFrame {
    return parseControlFrame(line);
  }

  isInert(line: Buffer): boolean {
    return line.toString('latin1', 0, inertHead.length) === inertHead;
  }

  isPingAnswer(frame: ControlFrame): boolean {
    return frame.kind === 'response' && this.#calls.get(ownCallNumber(frame.id) ?? -1) === pingSubtype;
  }

  asked(): Asked[] {
    return this.#requests.open().flatMap((request) => (request.isWithdrawn ? [] : (describeRequest(request) ?? [])));
  }

  sent(frame: ControlFrame): DriverEvent[] {
    if (frame.kind === 'request') this.#noteCall(frame.id, frame.subtype);
    if (frame.kind === 'response') this.#noteAnswer(frame.id, isCancel(frame) ? 'cancel' : 'answer');
    if (frame.kind === 'message') this.#notePrompt(frame.message);
    return [...this.#settledNow.splice(0), ...this.#changedTurn()];
  }

  received(frame: ControlFrame, start: number): DriverEvent[] {
    return [
      ...this.#read(frame, start),
      ...this.#settledNow.splice(0),
      ...this.opening.takeNews(),
      ...this.#changedTurn(),
    ];
  }

  dueFrames(): string[] {
    const step = this.opening.nextCall();
    const call = step ? [requestFrame(this.#nextNumber, step.subtype, step.members)] : [];
    return [...call, ...this.#requests.open().flatMap((request) => automaticAnswer(request) ?? [])];
  }

  promptFrames(promptId: string, text: string): [string, string] {
    return [promptFrame(promptId, text), requestFrame(this.#nextNumber + 1, pingSubtype)];
  }

  pingFrame(): string {
    return requestFrame(this.#nextNumber, pingSubtype);
  }

  /** A prompt that still waits in the agent's queue is taken out of it, so that it does not run after the cancel. */
  cancelFrames(): string[] {
    const isOpen = this.prompts.open() !== undefined;
    const interrupt = isOpen ? [requestFrame(this.#nextNumber, 'interrupt', { cancel_queued: true })] : [];
    return [...interrupt, ...this.#requests.open().flatMap((request) => cancelAnswer(request) ?? [])];
  }

  permissionFrame(requestId: string, choice: PermissionChoice | 'cancelled'): Result<string | undefined> {
    const found = this.#findOpen(requestId, isPermission);
    if (!found.ok || !found.value) return found as Result<undefined>;
    const answer = permissionAnswer(found.value, choice);
    return answer.ok ? ok(responseFrame(String(found.value.rpcId), answer.value)) : answer;
  }

  questionFrame(requestId: string, answer: QuestionAnswer): Result<string | undefined> {
    const found = this.#findOpen(requestId, isQuestion);
    if (!found.ok || !found.value) return found as Result<undefined>;
    return ok(responseFrame(String(found.value.rpcId), questionAnswer(found.value, answer)));
  }

  end(): DriverEvent[] {
    const settled = this.#requests
      .end()
      .filter((request) => isPermission(request) || isQuestion(request))
      .map(({ requestId }) => ({ kind: 'request-settled', requestId, by: 'end' }) as const);
    return [...settled, ...this.prompts.end(), ...this.#changedTurn()];
  }

  /** A prompt takes a number too: pings behind it have higher ones, so an answer to them proves that it was read. */
  #notePrompt(message: Record<string, unknown>): void {
    const promptId = promptIdOf(message);
    if (promptId === undefined) return;
    this.prompts.add(promptId, this.#nextNumber);
    this.#nextNumber += 1;
  }

  #noteCall(id: string, subtype: string): void {
    const number = ownCallNumber(id);
    if (number === undefined) return;
    this.#nextNumber = Math.max(this.#nextNumber, number + 1);
    this.#calls.set(number, subtype);
    if (subtype === 'interrupt') this.#marks.noteInterrupt(number);
    this.opening.noteCall(subtype);
  }

  #noteAnswer(id: string, by: Settlement): void {
    const request = this.#requests.settle(id, by);
    if (request && (isPermission(request) || isQuestion(request))) this.#announceSettled(request.requestId);
  }

  #announceSettled(requestId: string): void {
    const by = this.#requests.settlementOf(requestId);
    if (by) this.#settledNow.push({ kind: 'request-settled', requestId, by });
  }

  #read(frame: ControlFrame, start: number): DriverEvent[] {
    switch (frame.kind) {
      case 'invalid':
        return frame.text.trim() === '' ? [] : [{ kind: 'noise', text: frame.text }];
      case 'request':
        return this.#readRequest(frame, start);
      case 'response':
        return this.#readResponse(frame);
      case 'withdrawal':
        this.#requests.withdraw(frame.id);
        return [];
      case 'message':
        return this.#readMessage(frame);
    }
  }

  #readRequest(frame: Extract<ControlFrame, { kind: 'request' }>, start: number): DriverEvent[] {
    const requestId = `${JSON.stringify(frame.id)}@${start}`;
    const { id: rpcId, subtype: method, request: params } = frame;
    const request: IncomingRequest = { requestId, rpcId, method, params, isWithdrawn: false };
    const settled = this.#requests.receive(request);
    const asked = describeRequest(request);
    if (!asked) return [{ kind: 'request-refused', method: method.slice(0, 100) }];
    if (settled) this.#announceSettled(requestId);
    return 'permission' in asked
      ? [{ kind: 'permission-asked', permission: asked.permission }]
      : [{ kind: 'question-asked', question: asked.question }];
  }

  /** Also our own answers come back here (`--replay-user-messages`): their ids are the agent's and are passed over. */
  #readResponse(frame: Extract<ControlFrame, { kind: 'response' }>): DriverEvent[] {
    const number = ownCallNumber(frame.id);
    const subtype = number === undefined ? undefined : this.#calls.get(number);
    if (number === undefined || subtype === undefined) return [];
    this.#calls.delete(number);
    if (subtype === 'interrupt') return this.#marks.readInterrupted(frame.response);
    if (subtype === pingSubtype) {
      this.#hasAnsweredPing = true;
      return this.prompts.confirm(number);
    }
    this.opening.readResponse(subtype, frame);
    return [];
  }

  #readMessage({ type, message }: Message): DriverEvent[] {
    switch (type) {
      case 'system':
        return this.#readSystem(message);
      case 'command_lifecycle':
        return this.#marks.readLifecycle(message);
      case 'assistant':
        this.#contextUsed = readContextUsed(message) ?? this.#contextUsed;
        return readAssistant(message);
      case 'user':
        return message.isReplay === true ? this.#marks.readReplay(message) : readUser(message);
      case 'rate_limit_event':
        return [
          ...readPlanWindow(message.rate_limit_info),
          ...this.#readLimits(readLimitWindow(message.rate_limit_info)),
        ];
      case 'result':
        return this.#readResult(message);
      default:
        return [];
    }
  }

  #readSystem(message: Record<string, unknown>): DriverEvent[] {
    this.opening.readSystem(message);
    if (message.subtype === 'init') {
      this.opening.readConversationId(textOf(message.session_id));
      this.#isOnPlan = message.apiKeySource === 'none';
    }
    if (message.subtype !== 'api_retry') return [];
    const status = typeof message.error_status === 'number' ? ` (${message.error_status})` : '';
    const text = `the model API failed${status}; attempt ${String(message.attempt)} of ${String(message.max_retries)}`;
    return [{ kind: 'noise', text }];
  }

  #readResult(result: Record<string, unknown>): DriverEvent[] {
    if (!this.opening.isOpen) {
      if (result.is_error === true) this.opening.readFailedStart(textIn(result));
      return [];
    }
    this.opening.readConversationId(textOf(result.session_id));
    const prompt = this.#marks.promptOf(result);
    const outcome = readOutcome(result, this.#marks.wasInterrupted(prompt));
    const limits = this.#readLimits(readResultLimit(outcome, this.#now()));
    if (prompt) this.#isLimitTold = false;
    return [
      ...readUsage(result, this.#contextUsed, this.#isOnPlan),
      ...limits,
      ...(prompt ? this.prompts.finish(prompt.callId, outcome) : []),
    ];
  }

  /** Once for a turn: the event of the window knows when it ends, the text of the result after it does not. */
  #readLimits(limits: Extract<DriverEvent, { kind: 'limit' }>[]): DriverEvent[] {
    if (limits.length === 0 || this.#isLimitTold) return [];
    this.#isLimitTold = true;
    return limits;
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
    if (request && isWanted(request) && !request.isWithdrawn) return ok(request);
    const settlement = request?.isWithdrawn ? 'agent' : this.#requests.settlementOf(requestId);
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

/** What nobody serves is refused, never left open; what the agent took back gets its end too, so that the file shows one. */
function automaticAnswer(request: IncomingRequest): string | undefined {
  if (request.isWithdrawn) return errorFrame(String(request.rpcId), 'withdrawn by the agent');
  return describeRequest(request) ? undefined : errorFrame(String(request.rpcId), 'not served by this client');
}

function cancelAnswer(request: IncomingRequest): string | undefined {
  if (isPermission(request)) return responseFrame(String(request.rpcId), cancelled);
  return isQuestion(request)
    ? responseFrame(String(request.rpcId), questionAnswer(request, { action: 'cancel' }))
    : undefined;
}

const cancelled: Record<string, Json> = { behavior: 'deny', message: 'The turn was cancelled.', interrupt: true };

function isCancel(frame: Extract<ControlFrame, { kind: 'response' }>): boolean {
  const { error, response } = frame;
  return error !== undefined || response.interrupt === true || (isRecord(response) && response.action === 'cancel');
}
