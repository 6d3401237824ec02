import type { Result } from '../kernel/index.ts';
import type { WrappedCommand } from '../sandbox/index.ts';
import type { Store, Tx } from '../store/index.ts';
import type { Broker } from './broker.ts';
import type { Session } from './session.ts';
import type {
  AgentProfile,
  DriverEvent,
  LinkPace,
  McpServerSpec,
  PermissionChoice,
  ToolCallView,
} from './drivers/index.ts';
import type { PromptRow } from './session-store.ts';
import type { TerminalState } from './states.ts';

/** How one generation is to be started, as `app` decides it (work folder, sandbox profile, brief). */
export interface LaunchPlan {
  /** What is known of the agent, as data; its `mode` is set and read back (decision 3). */
  profile: AgentProfile;
  /**
   * Turns the agent's command into what is executed. `variables` (`CHANTIER_TOKEN`, `CHANTIER_SESSION`,
   * `CHANTIER_GENERATION`, the marker `CHANTIER_RUN` by which survivors are found) are added to the environment that the plan builds; `stateFolder` is private, for the files of the sandbox.
   */
  wrap(variables: Readonly<Record<string, string>>, stateFolder: string): Promise<WrappedCommand>;
  /** Working directory as the agent sees it; asserted when its conversation is opened. */
  cwd: string;
  /** MCP servers that the agent starts, `chantier mcp` among them; some agents hand no environment on, so it gets the variables. */
  mcpServers(variables: Readonly<Record<string, string>>): readonly McpServerSpec[];
  /** The first prompt: the brief of the work. Left out: the session waits for `tell`. */
  firstPrompt?: string;
  /** Queued texts that the first prompt holds already (`waitingTexts`): they get its verdict and do not come again. */
  foldedPrompts?: readonly string[];
  /** Conversation to go on with instead of a new one. Default: the session's `resumeConversationId`. */
  conversationId?: string;
  /** Provider account that the agent uses; sessions of one account share its limits. Default: the agent's own. */
  account?: string;
}

/** A permission that the agent's own protocol asks for. */
export interface PermissionAsk {
  id: string;
  generation: number;
  call: ToolCallView;
  /** The kinds on offer; an answer is given by kind. */
  choices: readonly PermissionChoice[];
}

export type PermissionJudgement =
  | { kind: 'allow' }
  | { kind: 'reject'; reason: string }
  /** A human decides; settled later by `answerPermission` with this decision. */
  | { kind: 'hold'; decisionId: string };

/** How a session ended. */
export interface SessionEnd {
  state: TerminalState;
  /** Machine word: `operator`, `exited`, `hung`, `stalled`, `unsafe_mode`, `start_timeout`, … */
  reason: string;
}

/** What an agent says of its usage, as totals so far. */
export type UsageEvent = Extract<DriverEvent, { kind: 'usage' | 'tokens' }>;

/** What a usage event means for its session; the bill itself is kept elsewhere. */
export interface BookedUsage {
  /** A budget of the session leaves no room: it is paused (decision 7). */
  isUsedUp: boolean;
}

/** What sessions need of the rest; composed in `app`. */
export interface SessionPorts {
  /** Whether this code names a project that work may be started in (S-59). Called inside transactions. */
  knowsProject(tx: Tx, code: string): Promise<boolean>;
  /** Prepares everything a generation needs: clone, sandbox profile, brief. May take long; a refusal is START_FAILED. */
  planLaunch(session: Session): Promise<Result<LaunchPlan>>;
  /** Decides about a permission request. Called outside transactions, again after a crash: must be idempotent for `ask.id`. */
  judgePermission(session: Session, ask: PermissionAsk): Promise<PermissionJudgement>;
  /** Runs INSIDE the transaction that ends a session: task back to todo, leases released, decisions void. */
  onEnded(tx: Tx, session: Session, how: SessionEnd): Promise<void>;
  /** Runs inside the transaction in which a held permission request ends without its decision (turn cut, session paused). */
  onHoldEnded(tx: Tx, session: Session, decisionId: string, reason: string): Promise<void>;
  /** Runs inside the transaction that records the end of a turn. */
  onTurnEnded(tx: Tx, session: Session, stopReason: string, promptId: string): Promise<void>;
  /**
   * Runs inside the transaction that takes a prompt to be sent: reserves what its turn is expected to use (decision 7).
   * `wait`: others hold what is left; `pause`: a human has to decide. In ESCALATED only answers go out, and they always may.
   */
  reserveTurn(
    tx: Tx,
    session: Session,
    prompt: Pick<PromptRow, 'id' | 'kind' | 'text'>,
  ): Promise<'go' | 'wait' | 'pause'>;
  /** Runs inside the transaction that takes in what an agent says of its usage; also after the end of its session. */
  onUsage(tx: Tx, session: Session, usage: UsageEvent): Promise<BookedUsage>;
  /** What a session has used in all its turns; `null` when nothing was booked. */
  usedSoFar(tx: Tx, session: Session): Promise<{ input: number; output: number; costMicros: number } | null>;
  /** Runs inside the transaction that takes in how much of its plan's window an agent says is used. */
  onPlanWindow(tx: Tx, session: Session, window: Extract<DriverEvent, { kind: 'plan-window' }>): Promise<void>;
  /** Whether a budget of the session leaves no room; asked when it is RUNNING again. */
  isUsedUp(tx: Tx, session: Session): Promise<boolean>;
  /** After every process of an ended session is gone: work into rescue refs, folders. At least once; throws to be called again. */
  afterEnded(session: Session, how: SessionEnd): Promise<void>;
}

/** Numbers of the sessions part; read anew for each use, so that a change applies at once. All times in ms. */
export interface SessionSettings {
  /** Keys of trackers that are work keys too, as `fields.workKey` takes them. Default `PD-9999` (S-73). */
  workKeys: string;
  /** Authors' non-terminal sessions at most (S-19). Default 5, 1–64. */
  maxActive: number;
  /** Reviewers' and QA's sessions at most. Default 2. */
  maxReviewers: number;
  /** `working` counts running turns only. Default `open`. */
  quotaCounts: 'open' | 'working';
  /** STARTING until `initialize` is answered. Default 30 s, 5–120 s (S-29). */
  startDetectionTimeoutMs: number;
  /** From the peer seen to its conversation open and mode read back. Default 30 s, 5–300 s (S-29). */
  firstLivenessTimeoutMs: number;
  /** Ping without answer for so long in an open turn: UNRESPONSIVE. Default 3 s. */
  unresponsiveAfterMs: number;
  /** UNRESPONSIVE for so long in an open turn: stopped, CRASHED `hung`. Default 2 min. */
  hungTimeoutMs: number;
  /** Open turn without an event for so long: STALLED. Default 5 min. */
  stalledAfterMs: number;
  /** STALLED for so long: told once, then CRASHED `stalled`. Default 30 min. */
  stallTimeoutMs: number;
  /** How long an agent may finish its turn after it reported its work done. Default 10 s. */
  doneGraceMs: number;
  /** How long a cancelled turn has to end before the process is stopped. Default 1.5 s. */
  cancelGraceMs: number;
  idempotencyTtlMs: number;
  /** The slow cycle: reconciliation, purge of expired keys. Default 10 s (S-42). */
  cycleMs: number;
  /** So much of a living agent's newest output stays whole; what is older is freed where it can be. Default 256 MiB. */
  journalKeepBytes: number;
}

/** The defaults of `SessionSettings`. */
export const defaultSessionSettings: SessionSettings = {
  workKeys: 'PD-9999',
  maxActive: 5,
  maxReviewers: 2,
  quotaCounts: 'open',
  startDetectionTimeoutMs: 30_000,
  firstLivenessTimeoutMs: 30_000,
  unresponsiveAfterMs: 3_000,
  hungTimeoutMs: 120_000,
  stalledAfterMs: 300_000,
  stallTimeoutMs: 1_800_000,
  doneGraceMs: 10_000,
  cancelGraceMs: 1_500,
  idempotencyTtlMs: 86_400_000,
  cycleMs: 10_000,
  journalKeepBytes: 256 * 1024 * 1024,
};

/** What every use case of sessions takes besides its transaction. */
export interface SessionContext {
  store: Store;
  ports: SessionPorts;
  settings(): SessionSettings;
  /** Name of this node. */
  nodeId: string;
}

/** What the supervisor takes besides. */
export interface SupervisorOptions {
  /** `pathsOf(home).sessions`. */
  sessionsFolder: string;
  /** How often timers are looked at, ms. Default 1000. */
  tickMs?: number;
  /** The broker that status and commands ask too. Default: one of its own over the store. */
  broker?: Broker;
  /** For tests: the wait before a try to reach the broker again. */
  brokerWait?: (ms: number) => Promise<void>;
  /** For tests: how often drivers probe. */
  pace?: Partial<LinkPace>;
  /** Told of errors of reconcilers; the supervisor goes on. */
  onFault?(error: unknown, sessionId: string | undefined): void;
}
