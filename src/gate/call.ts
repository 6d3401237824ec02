import type { CallId, CapabilityId, DecisionId, Json, MoveTable } from '../kernel/index.ts';
import type { GateCallRow } from './rows.ts';
import type { CapabilityDefinition, ToolAnnotations } from './capability.ts';
import type { CallPreview } from './preview.ts';

/** Kinds of a tool as agents name them (ACP), and what is unknown. Untrusted: a kind only ever raises what is asked. */
export const toolKinds = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const;
export type ToolKind = (typeof toolKinds)[number];

/** The MCP server that brings the tool of a call. */
export interface CallServer {
  /** Digest over command, arguments and environment names, or over address and origin (decision 3); never the display name. */
  identity: string;
  label: string;
  isTrusted: boolean;
  /** Chantier's own bridge: judged where it is served, so not here. */
  isOwn?: boolean;
  annotations?: ToolAnnotations;
  /** The raw tool entry of `tools/list`, where it is known; decides the version. */
  definition?: Json;
}

/** One invocation as any door brings it: an ACP permission request, a hook, later the relay (decision 1). */
export interface GateCall {
  sessionId: string;
  generation: number;
  /** The agent's own id of this request; asked again with it, the answer is the same. */
  requestId?: string;
  projectId?: string;
  role: string;
  agent: string;
  tool: {
    kind: ToolKind;
    /** As the agent names it (`Bash`, `mcp__github__create_issue`); may be unknown. */
    name?: string;
    title: string;
  };
  /** Left out when the agent gives none (Gemini CLI): then nothing standing is possible. */
  rawInput?: Json;
  /** Paths that the agent says it will touch; absolute or relative to `cwd`. */
  locations: readonly string[];
  /** Absolute. */
  cwd: string;
  /** The session's own clone, absolute. */
  workFolder: string;
  /** More folders of this session alone: its home, caches, tmp. */
  privateFolders?: readonly string[];
  /** Folders with credentials; touching them is always a crossing. */
  credentialFolders?: readonly string[];
  /** Whether the session runs in a sandbox that was proved to hold. */
  sandboxHolds: boolean;
  server?: CallServer;
}

/** What the policy says of one part of a call. */
export type Effect = 'read' | 'allow' | 'provisional' | 'ask' | 'tier' | 'block';

/** One capability that a call needs, and how it is judged. A compound command has several. */
export interface Requirement {
  effect: Effect;
  /** Machine word for events and messages: `inside_sandbox`, `outside_effect`, `not_understood`, … */
  reason: string;
  /** What is recorded; left out for reads. */
  capability?: CapabilityDefinition;
  /** Whether a standing approval of the capability lets it pass without a question. */
  isStanding: boolean;
  /** What allowed or forbade it: `preset:workspace`, `rule:instance:3`. */
  source: string;
}

/** A call with everything that is known of it before the transaction: parsed, resolved, judged by the policy. */
export interface PreparedCall {
  call: GateCall;
  requirements: readonly Requirement[];
  policyVersion: string;
  phase: 1 | 2 | 3 | 4;
  /** Digest over the canonical arguments. */
  argumentsDigest: string;
  /** Digest that a single-use yes binds to, without the versions of the capabilities (added in the transaction). */
  contextDigest: string;
  preview: CallPreview;
  /** Canonical, masked arguments for the content table; left out when none were given. */
  maskedArguments?: string;
}

export type Decision = 'allow' | 'refuse' | 'ask';

/** The answer to a call. `message` goes to the agent as a tool result (G-13). */
export interface Judgement {
  decision: Decision;
  reason: string;
  message: string;
  /** Left out for read-only calls, which leave no record. */
  callId?: CallId;
  capabilityId?: CapabilityId;
  /** The open question, when `ask` (and for a refused capability that waits for a human). */
  decisionId?: DecisionId;
  /** A provisional capability ran for the first time. */
  isFirstRun?: boolean;
}

export type CallState = GateCallRow['state'];

/**
 * Moves of a call. `allowed`, `refused`, `spent`, `denied`, `expired`, `void`: ended. `waiting`: a human says yes or no, or
 * its session ends. `approved`: spent before the call goes on, or its time runs out.
 */
export const callMoves: MoveTable<CallState> = {
  allowed: [],
  refused: [],
  waiting: ['approved', 'denied', 'void'],
  approved: ['spent', 'expired', 'void'],
  spent: [],
  denied: [],
  expired: [],
  void: [],
};

/** Each state with who leaves it; the state page of the docs is made from this. */
export const callStateDocs: Readonly<Record<CallState, string>> = {
  allowed: 'Let through without a question. Over.',
  refused: 'Not let through, without a question. Over.',
  waiting: 'A human has been asked. Left by their yes or no, or with the end of the session.',
  approved:
    'A human said yes to this one call. Left when it is spent, before the call goes on, or when 15 min are over.',
  spent: 'The yes was used. Over.',
  denied: 'A human said no. Over; the identical call stays refused for 15 min.',
  expired: 'Nobody spent the yes in time. Over.',
  void: 'The call changed, or its session ended, before it went on. Over.',
};

/** How long a single-use yes can be spent, ms (decision 4). */
export const approvalTtlMs = 15 * 60 * 1000;
/** How long the identical call stays refused after a human's no, ms (decision 9). */
export const denialTtlMs = 15 * 60 * 1000;
/** Open questions of one session at most; further unknown calls are refused (decision 9). */
export const maxOpenCalls = 20;
/** Woken with the call's id whenever a waiting call was decided or went away. */
export const callsTopic = 'gate.calls';

/** A stored call as a client sees it; times in epoch ms. */
export interface CallView {
  id: CallId;
  sessionId: string;
  agent: string;
  toolKind: string;
  toolName: string;
  capabilityId: CapabilityId | null;
  capabilityIds: readonly string[];
  state: CallState;
  reason: string;
  decisionId: DecisionId | null;
  count: number;
  outcome: GateCallRow['outcome'];
  preview: CallPreview | null;
  createdAt: number;
  expiresAt: number | null;
  decidedBy: string | null;
  endedAt: number | null;
}
