import type { Json } from '../../kernel/index.ts';

/**
 * What every driver says about its agent, shaped after the v2 draft of ACP (decision 3). A batch of events is applied in one
 * transaction together with its `consumedTo`; an event of a batch that was applied is never given again.
 */
export type DriverEvent =
  /** The process speaks our protocol: "peer seen" (S-28). `command` agents: the process runs. */
  | { kind: 'peer-seen'; agentName?: string; agentVersion?: string }
  /** The conversation is open and the permission mode read back as set: "first liveness" (S-28, decision 3). */
  | { kind: 'opened'; conversationId: string | null; mode: string | null; isResumed: boolean }
  /** The start cannot succeed; the session is START_FAILED. `message` is for a human and quotes no agent text at length. */
  | { kind: 'start-failed'; code: StartFailure; message: string }
  /** The turn's state; sent when it changes. */
  | { kind: 'state'; state: TurnState }
  /** A piece of text. `messageId` groups pieces where the agent says it. `replayed`: history that a resumed conversation repeats. */
  | { kind: 'message'; role: 'agent' | 'user' | 'thought'; messageId?: string; text: string; replayed: boolean }
  /** A tool call began or changed; later ones of the same id hold only what changed. */
  | { kind: 'tool-call'; call: ToolCallView; replayed: boolean }
  /** The agent's plan, complete each time. */
  | { kind: 'plan'; entries: { text: string; status: string }[]; replayed: boolean }
  /** A permission is asked and the agent waits (RUNNING, `waiting_approval`). Answered by `answerPermission`. */
  | { kind: 'permission-asked'; permission: PermissionView }
  /** A question is asked and the agent waits (ESCALATED). Answered by `answerQuestion`. */
  | { kind: 'question-asked'; question: QuestionView }
  /** An open request found its end: answered by us, or taken back by the agent or the end of the process. */
  | { kind: 'request-settled'; requestId: string; by: 'answer' | 'cancel' | 'agent' | 'end' }
  /** Size of the context and cost so far, as the agent counts (decision 7). */
  | {
      kind: 'usage';
      usedTokens: number;
      contextTokens: number;
      cost?: { amount: number; currency: string };
      /** The agent says that a subscription pays, so that the cost is what it would have been. */
      isOnPlan?: boolean;
    }
  /** The id by which the conversation can be resumed became known or changed after it was opened. */
  | { kind: 'conversation'; conversationId: string }
  /** Tokens of the conversation so far, as the agent counts; `input` includes the `cached` ones (decision 7). */
  | { kind: 'tokens'; input: number; output: number; cached: number }
  /** How much of a window of its plan is used, 0 to 1, where the agent says so (decision 7). */
  | { kind: 'plan-window'; name: string; share: number; resetsAtMs?: number }
  /** The provider limits the account (design section 7). `asserted`: the protocol said so; else read out of an error text. */
  | { kind: 'limit'; reason: 'usage' | 'rate' | 'billing' | 'auth'; untilMs?: number; asserted: boolean }
  /** Delivery verdict of a prompt (decision 8); `delivered` is final, `unconfirmed` may still become it. */
  | { kind: 'prompt-verdict'; promptId: string; verdict: PromptVerdict }
  /** The turn of a prompt ended; the explicit terminal event. Not given once the latch has fallen. */
  | { kind: 'turn-ended'; promptId: string; outcome: TurnOutcome }
  /** The permission mode changed after the start, by the agent or by a human at its side. */
  | { kind: 'mode-changed'; mode: string; isSafe: boolean }
  /** A request that we do not serve (fs, terminal, unknown) was answered -32601. */
  | { kind: 'request-refused'; method: string }
  /** A line that is no frame of the protocol; `text` is its beginning. For `command` agents: output. */
  | { kind: 'noise'; text: string };

export type StartFailure = 'unsafe_mode' | 'no_process' | 'protocol' | 'auth_required' | 'cannot_resume' | 'refused';
export type TurnState = 'running' | 'idle' | 'requires_action';
export type PromptVerdict = 'delivered' | 'unconfirmed' | 'not_delivered';

/** How a turn ended: with a reason of the protocol, or with an error of the agent. */
export type TurnOutcome =
  | { stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled' | (string & {}) }
  | { error: { code: number; message: string } };

/** A tool call as drivers tell it; members that are missing did not change. */
export interface ToolCallView {
  callId: string;
  title?: string;
  tool?: string;
  /** ACP's kinds: read, edit, delete, move, search, execute, think, fetch, switch_mode, other. */
  operation?: string;
  status?: 'pending' | 'in_progress' | 'completed' | 'failed' | (string & {});
  paths?: string[];
  input?: Json;
  output?: Json;
  /** Text and diffs as the agent shows them. */
  content?: Json;
}

/** An open permission request. */
export interface PermissionView {
  /** Names the request within its generation for good, also where the agent uses a JSON-RPC id again. */
  requestId: string;
  call: ToolCallView;
  /** The kinds on offer; a choice is made by kind, never by the agent's own option id. */
  choices: PermissionChoice[];
}

export type PermissionChoice = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';

/** An open question. */
export interface QuestionView {
  requestId: string;
  text: string;
  /** JSON schema of the wanted answer, as the agent gave it. */
  schema: Json;
  callId?: string;
}

/** What a question is answered with; `content` matches its schema. */
export type QuestionAnswer =
  | { action: 'accept'; content: Record<string, Json> }
  | { action: 'decline' }
  | { action: 'cancel' };

/** Events and how far the journal is consumed once they are applied. */
export interface EventBatch {
  events: DriverEvent[];
  /** Journal offset to store in the transaction that applies the events, and to give to `adopt` later. */
  consumedTo: number;
}

/** What is known of the process beside the protocol (decision 4). Flags may come and go; `exited` is final and comes last. */
export type LivenessEvent =
  /** Open turn and two pings without an answer, about 3 s; or outside a turn two slow ones. A flag, never an end. */
  | { kind: 'unresponsive'; silentForMs: number }
  | { kind: 'responsive' }
  /** Nothing was heard for 5 min while a turn is open and nobody is asked. */
  | { kind: 'stalled'; silentForMs: number }
  | { kind: 'unstalled' }
  /** The process is gone and its journal read to the end. Success is only what `turn-ended` or a report said before. */
  | {
      kind: 'exited';
      cause: 'exit-status' | 'gone' | 'rebooted' | 'never-started';
      code?: number;
      /** Whether a stop of ours was under way. */
      isAfterLatch: boolean;
      stderrTail: string;
    };
