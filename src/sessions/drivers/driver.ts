import type { Clock, Json, Result } from '../../kernel/index.ts';
import type { TerminalInput } from '../../terminal/index.ts';
import type { Generation, StopOptions, StopReport } from '../host/index.ts';
import type {
  EventBatch,
  LivenessEvent,
  PermissionChoice,
  PermissionView,
  PromptVerdict,
  QuestionAnswer,
  QuestionView,
  TurnOutcome,
  TurnState,
} from './driver-event.ts';
import type { RaisedFlags } from './pulse.ts';

/** A way to speak to a kind of agent. */
export interface Driver {
  readonly kind: AgentProfile['driver'];
  /** The agent asks nobody before it acts, so it may run in a sandbox that holds and nowhere else. Default false. */
  readonly asksNobody?: boolean;
  /** The command that starts a generation, where it depends on more than the profile. Left out: the profile's own. */
  commandFor?(profile: AgentProfile, start: StartArguments): string[];
  /**
   * Takes hold of a generation's agent, freshly started or found alive after a restart of the server: its state is rebuilt
   * from the two files alone (decision 6), what had been begun goes on where it stopped, and batches beyond `consumedTo`
   * come to `sink`. Opening the conversation (initialize, session, mode) goes on by itself. Never waits for the agent.
   */
  attach(generation: Generation, options: AttachOptions, sink: DriverSink): Promise<AgentLink>;
}

/** What a command may depend on. Nothing secret goes into it: other users of the machine can read command lines. */
export interface StartArguments {
  /** The conversation to go on with; `null`: a new one. */
  resume: string | null;
  /** MCP servers that the agent is to start; values of their environment are in the agent's own. */
  mcpServers: readonly McpServerSpec[];
  /** Arguments that switch the agent's own sandbox off, when ours holds. */
  ownSandboxOff: readonly string[];
  /** The brief, for programs that get it at their start; cut to what an argument can hold. */
  prompt?: string;
}

/** What the caller knows about the session. */
export interface AttachOptions {
  profile: AgentProfile;
  /** Working directory as the agent sees it. */
  cwd: string;
  /** MCP servers that the agent is to start, `chantier mcp` among them. */
  mcpServers: readonly McpServerSpec[];
  /** The conversation to go on with; left out: a new one. */
  resume?: { conversationId: string };
  /** Journal offset that is applied already. Default 0. */
  consumedTo?: number;
  clock?: Clock;
  pace?: Partial<LinkPace>;
  /** Flags that an earlier server left raised (S-48). */
  raised?: RaisedFlags;
}

/** How often is probed and when flags are raised (ms); the defaults are decision 4's. */
export interface LinkPace {
  /** Ping interval while a turn is open. 1000. */
  pingInTurnMs: number;
  /** Ping interval while none is. 30 000. */
  pingIdleMs: number;
  /** Age of the older of two unanswered pings at which the agent is unresponsive: declared within 3 s of the hang. 1500. */
  unresponsiveAfterMs: number;
  /** Silence in an open turn after which it is stalled. 300 000. */
  stalledAfterMs: number;
  /** How long a prompt may be without proof of delivery before it is `unconfirmed`. 10 000. */
  unconfirmedAfterMs: number;
  /** How long a mode may take to read back. 10 000. */
  modeReadBackMs: number;
}

/**
 * Where a link's news go. Calls come one at a time; the link waits for each. A sink may answer and prompt, but must not wait
 * for `stop` or `detach` of the same link: they wait for the sink.
 */
export interface DriverSink {
  /** Applies a batch in one transaction with its offset. Nothing more is read until it resolves; a rejection is retried. */
  apply(batch: EventBatch): Promise<void>;
  /** Told in order with the batches. */
  liveness(event: LivenessEvent): Promise<void> | void;
  /** A batch could not be applied, or a file not be read; the link goes on trying. */
  fault?(error: unknown): void;
}

/** A stdio MCP server in the agent's configuration. */
export interface McpServerSpec {
  name: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** One agent in the hands of this server. */
export interface AgentLink {
  readonly generation: Generation;
  /** What is known now; rebuilt from the files after a restart. Decision rows are reconciled with `openRequests` at start. */
  snapshot(): LinkSnapshot;
  /** Whether the agent has said something that is not applied yet: time is no judge of it before that. */
  isBehind(): boolean;
  /** Whether a line of the journal is worth nothing any more once it was applied (decision 2: it may be freed). */
  isSpent(line: Buffer): boolean;
  /**
   * Sends a prompt. Idempotent by `promptId`: a prompt that is in the file already is not sent again. Refuses
   * `turn_open`, `not_opened`, `generation_stopping`, `generation_ended`, `no_prompts` (drivers without an input).
   */
  prompt(promptId: string, text: string): Promise<Result<{ verdict: PromptVerdict }>>;
  /** Cancels the open turn: the agent is told and every open request answered with cancelled. Safe without a turn. */
  cancelTurn(): Promise<void>;
  /** Answers a permission by kind. Safe to repeat. Refuses `request_unknown`, `request_settled`, `choice_not_offered`. */
  answerPermission(requestId: string, choice: PermissionChoice | 'cancelled'): Promise<Result<undefined>>;
  /** Answers a question. Safe to repeat. Refuses `request_unknown`, `request_settled`. */
  answerQuestion(requestId: string, answer: QuestionAnswer): Promise<Result<undefined>>;
  /** What a human may do at the program's terminal; absent where it has none. */
  readonly terminal?: TerminalControl;
  /** The ordered stop (decision 5): cancel, answers, latch, end of input, SIGTERM, SIGKILL, sweep. Safe to repeat. */
  stop(options?: StopOptions & { cancelGraceMs?: number }): Promise<StopReport>;
  /** Lets go and leaves the agent alone; what a stopping server does. */
  detach(): Promise<void>;
}

/** The keyboard and the size of a program's terminal. */
export interface TerminalControl {
  /** Types or resizes, as the file holds it once for each `id`. Refuses `generation_stopping`, `generation_ended`. */
  send(input: TerminalInput): Promise<Result<undefined>>;
}

/** A link's state at one moment. */
export interface LinkSnapshot {
  phase: 'launching' | 'opening' | 'open' | 'failed' | 'ended';
  turn: TurnState;
  openPromptId: string | null;
  conversationId: string | null;
  mode: string | null;
  permissions: PermissionView[];
  questions: QuestionView[];
  /** Every prompt of this generation. */
  prompts: { promptId: string; verdict: PromptVerdict; outcome?: TurnOutcome }[];
  isUnresponsive: boolean;
  isStalled: boolean;
  consumedTo: number;
}

/** What is to be known about an agent, as data. The command and its environment reach the process through the sandbox. */
export interface AgentProfile {
  /** `claude-agent-acp`, `codex-acp`, …, or the name given in the configuration. */
  name: string;
  driver: 'acp' | 'claude' | 'codex' | 'command';
  /** Program and arguments; the program is resolved to an absolute path when the agent is registered. */
  command: readonly string[];
  /** Provider family; reviewers come from another one. */
  family: string;
  /** Names of variables that the operator may hand over (keys, addresses). */
  environmentNames: readonly string[];
  /** Variables that it always gets. */
  environment: Readonly<Record<string, string>>;
  /** The permission mode to set and read back; `null` where the agent's own configuration decides. */
  mode: string | null;
  /** The mode inside a sandbox that holds, where it differs. */
  sandboxedMode?: string;
  /** What a human runs to log it in, for messages. */
  logIn?: string;
  /**
   * Its `authenticate` method that takes a stored log-in and asks nobody; set by the caller where such a log-in is there.
   * Without it an agent that wants a log-in does not start: any other method would wait for a browser that nobody sees.
   */
  authMethod?: string;
  stop: StopOptions;
  quirks: AgentQuirks;
  /** `command` only: the program runs at a terminal of its own (ADR 0030). Default false. */
  tty?: boolean;
}

/** Ways in which agents differ from the protocol. */
export interface AgentQuirks {
  /** How a `command` agent takes prompts: not at all, or as lines on stdin. Default none. */
  input?: 'none' | 'lines';
  /** The agent confirms a mode by a message of this text with the mode's id behind it, instead of by an update. */
  modeEcho?: string;
  /**
   * It takes stdio MCP servers by this argument only, as JSON, and refuses those of the protocol. Their environment is not in it
   * (command lines can be read by other users): they inherit the agent's.
   */
  mcpArgument?: string;
  /** Members added to `session/new` as `_meta`. */
  sessionMeta?: Record<string, Json>;
}
