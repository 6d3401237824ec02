import type { Result } from '../kernel/index.ts';
import type {
  AgentView,
  AnswerBatch,
  AnsweredBatchView,
  AgentTaskChange,
  AuditExportQuery,
  AuditVerdict,
  BackupView,
  CapabilityDetail,
  CapabilityVerdict,
  CapabilityView,
  Checkpoint,
  ClaimView,
  CompletionView,
  CreatedProject,
  DecisionView,
  DependencyView,
  DetectionView,
  DetectRequest,
  DiffView,
  DoctorReport,
  DownView,
  EscalationView,
  EventPage,
  EventQuery,
  HandbackRequest,
  HandedBackView,
  HeardView,
  HookOrderView,
  HumanAct,
  InitRequest,
  InitView,
  JobView,
  LandingView,
  LandRequest,
  MessageView,
  NewAgent,
  NewJob,
  NewProject,
  NewTask,
  NotifyTestView,
  NotifyView,
  OwnerView,
  OutsideMessageView,
  OutsidePeerView,
  OutsideRegistration,
  Page,
  PageQuery,
  PeersQuery,
  PeerView,
  ProjectDetail,
  ProjectView,
  PullRequestView,
  RecapView,
  QuestionView,
  RegisterRequest,
  RepositoryView,
  RevertRequest,
  ReviewReceipt,
  ReviewSubmission,
  RunRequest,
  RunView,
  SandboxView,
  SearchPage,
  SearchQuery,
  KeyboardRequest,
  KeyboardView,
  KeysRequest,
  KeysView,
  SessionFolderView,
  TerminalPage,
  TerminalQuery,
  SessionView,
  SettingView,
  SettledView,
  StartRequest,
  StatusReport,
  StatusView,
  StoppedAllView,
  TakeoverRequest,
  TakeoverView,
  TaskChange,
  TaskView,
  TerminalRequest,
  TerminalView,
  ToldView,
  TranscriptPage,
  TranscriptQuery,
  TrustRequest,
  VerdictRequest,
  WatchedHookRequest,
  WatchedOutcomeView,
  WebhookSetup,
} from '../wire/index.ts';
import type { Caller } from './caller.ts';

/** The answer of every use case. */
export type Answer<T> = Promise<Result<T>>;

/** A query object as it comes from a parsed schema: members that were not given are absent or undefined. */
type Query<T> = PageQuery & { [K in keyof T]?: T[K] | undefined };

/**
 * Everything the product can do, a group for each resource. The edges (HTTP, MCP, CLI) call nothing else. Input has passed
 * its schema in `wire`; rules that need the store are judged here. The edge has checked the table of rights; what
 * depends on data (which proof a decision needs, whether a session owns a task) is judged here. "Name" of a project is its
 * id or codename, of a session its id or work key (a work key means the living one, else the newest), of a pull request its number or id.
 */
export interface App {
  work: WorkUseCases;
  sessions: SessionUseCases;
  decisions: DecisionUseCases;
  gate: GateUseCases;
  review: ReviewUseCases;
  repositories: RepositoryUseCases;
  instance: InstanceUseCases;
  notify: NotifyUseCases;
  agentSide: AgentSideUseCases;
  watched: WatchedUseCases;
  peers: PeersUseCases;
}

export interface WorkUseCases {
  /** Project, job and task of one request, in one transaction; the dispatcher goes on from there. */
  run(caller: Caller, request: RunRequest): Answer<RunView>;
  createProject(caller: Caller, project: NewProject): Answer<CreatedProject>;
  listProjects(caller: Caller, query: Query<{ status: string }>): Answer<Page<ProjectView>>;
  showProject(caller: Caller, name: string): Answer<ProjectDetail>;
  addJob(caller: Caller, job: NewJob): Answer<JobView>;
  listJobs(caller: Caller, query: Query<{ project: string }>): Answer<Page<JobView>>;
  /** `job` is an id, or `<project>/<job>`. */
  addTask(caller: Caller, job: string, task: NewTask): Answer<TaskView>;
  listTasks(caller: Caller, query: Query<{ project: string; job: string; status: string }>): Answer<Page<TaskView>>;
  /** `task` is an id, or `<project>/<task>`. */
  showTask(caller: Caller, task: string): Answer<TaskView>;
  readyTasks(caller: Caller, limit: number): Answer<TaskView[]>;
  updateTask(caller: Caller, task: string, change: TaskChange): Answer<TaskView>;
  /** By a human with reason and proof: done without landing. */
  completeTask(caller: Caller, task: string, reason: string): Answer<TaskView>;
  reopenTask(caller: Caller, task: string, reason: string): Answer<TaskView>;
  addDependency(caller: Caller, edge: { blocked: string; blocker: string }): Answer<DependencyView>;
  removeDependency(caller: Caller, edge: { blocked: string; blocker: string }): Answer<{ removed: boolean }>;
  listDependencies(caller: Caller, job: string): Answer<DependencyView[]>;
  listAgents(caller: Caller): Answer<AgentView[]>;
  /** Resolves the program to an absolute path, or refuses. */
  addAgent(caller: Caller, agent: NewAgent): Answer<AgentView>;
}

/** The seven of S-14, and the verbs beside them. */
export interface SessionUseCases {
  start(caller: Caller, request: StartRequest): Answer<SessionView>;
  status(caller: Caller, session?: string): Answer<StatusView>;
  escalations(caller: Caller, session?: string): Answer<EscalationView[]>;
  /** Answers the oldest open question of the session (S-32). */
  respond(caller: Caller, session: string, text: string): Answer<EscalationView>;
  pause(caller: Caller, session: string, reason?: string): Answer<SessionView>;
  resume(caller: Caller, session: string): Answer<SessionView>;
  stop(caller: Caller, session: string, reason?: string): Answer<SessionView>;
  list(caller: Caller, query: Query<{ state: string; living: boolean }>): Answer<Page<SessionView>>;
  show(caller: Caller, session: string): Answer<SessionView>;
  tell(caller: Caller, session: string, message: { text: string; now: boolean }): Answer<ToldView>;
  /** Answers open questions of one session in their order; each answer is stored whole or not at all (S-32). */
  respondInOrder(caller: Caller, session: string, batch: AnswerBatch): Answer<AnsweredBatchView>;
  /** Ends the agent's turn with a fence and gives a human the wheel. */
  takeOver(caller: Caller, session: string, request: TakeoverRequest): Answer<TakeoverView>;
  /** A terminal in the sandbox of a session that was taken over. */
  openTerminal(caller: Caller, session: string, request: TerminalRequest): Answer<TerminalView>;
  /** Takes the human's commits; the agent goes on with them. */
  handBack(caller: Caller, session: string, request: HandbackRequest): Answer<HandedBackView>;
  /** Stops dispatch, landing and outbox, ends every process within 5 s, saves the work. */
  stopAll(caller: Caller, reason?: string): Answer<StoppedAllView>;
  /** Undoes the halt of `stopAll`: dispatch, landing and outbox go on. */
  goOn(caller: Caller): Answer<{ halted: boolean }>;
  /** One page of what the agent of a generation wrote; waits for it up to `waitMs`. */
  transcript(caller: Caller, session: string, query: TranscriptQuery): Answer<TranscriptPage>;
  /** Looks through texts and transcripts; a bounded share for each call. */
  search(caller: Caller, query: SearchQuery): Answer<SearchPage>;
  /** What a program wrote at its terminal. Refuses `no_terminal`. */
  terminal(caller: Caller, session: string, query: TerminalQuery): Answer<TerminalPage>;
  /** From now on `caller` types, and nobody who did before. Refuses `no_terminal`, `terminal_not_held`. */
  takeKeyboard(caller: Caller, session: string, size: KeyboardRequest): Answer<KeyboardView>;
  /** Types, once for the caller's key. Refuses `keyboard_taken`, `keyboard_lost` (take it again). */
  typeKeys(caller: Caller, session: string, keys: KeysRequest): Answer<KeysView>;
  /** Where the session works. */
  folder(caller: Caller, session: string): Answer<SessionFolderView>;
}

/** Sessions that people start by hand; reported by the hooks that `chantier watch` installs. */
export interface WatchedUseCases {
  report(caller: Caller, hook: WatchedHookRequest): Answer<HookOrderView>;
  /** Waits up to `waitMs` for the answer, and notes that the hook still asks. */
  wait(caller: Caller, requestId: string, waitMs: number): Answer<WatchedOutcomeView>;
  withdraw(caller: Caller, requestId: string): Answer<{ withdrawn: boolean }>;
}

export interface DecisionUseCases {
  list(
    caller: Caller,
    query: Query<{ state: 'open' | 'settled' | 'void' | 'all'; kind: string; session: string }>,
  ): Answer<Page<DecisionView>>;
  show(caller: Caller, id: string): Answer<DecisionView>;
  /**
   * A human's verdict. `id` is that of a decision, or of what it is about (capability, session, landing, pull request).
   * Refuses `proof-required` when the decision needs a fresh proof and `caller.proof` is only standing (`app/access` `requireProof`).
   */
  settle(caller: Caller, id: string, verdict: VerdictRequest): Answer<SettledView>;
}

export interface GateUseCases {
  listCapabilities(caller: Caller, query: Query<{ status: string }>): Answer<Page<CapabilityView>>;
  showCapability(caller: Caller, id: string): Answer<CapabilityDetail>;
  decideCapability(caller: Caller, id: string, verdict: CapabilityVerdict): Answer<CapabilityView>;
}

export interface ReviewUseCases {
  listPullRequests(
    caller: Caller,
    query: Query<{ state: string; repository: string; open: boolean }>,
  ): Answer<Page<PullRequestView>>;
  showPullRequest(caller: Caller, name: string): Answer<PullRequestView>;
  diff(caller: Caller, name: string): Answer<DiffView>;
  humanAct(caller: Caller, name: string, act: HumanAct): Answer<PullRequestView>;
  /** Builds and checks the candidate and moves the base. Not landed = refusal `not-landed` with the reason. */
  land(caller: Caller, name: string, request: LandRequest): Answer<LandingView>;
  showLanding(caller: Caller, id: string): Answer<LandingView>;
  listLandings(caller: Caller, query: PageQuery): Answer<Page<LandingView>>;
  revert(caller: Caller, landing: string, request: RevertRequest): Answer<PullRequestView>;
}

export interface RepositoryUseCases {
  detect(caller: Caller, request: DetectRequest): Answer<DetectionView>;
  register(caller: Caller, request: RegisterRequest): Answer<RepositoryView>;
  list(caller: Caller, query: PageQuery): Answer<Page<RepositoryView>>;
  /** `name` is an id, a name or a path. */
  show(caller: Caller, name: string): Answer<RepositoryView>;
  /** Trusts exactly the configuration with `digest`; needs fresh proof. */
  trust(caller: Caller, name: string, request: TrustRequest): Answer<RepositoryView>;
}

export interface InstanceUseCases {
  init(caller: Caller, request: InitRequest): Answer<InitView>;
  sandbox(): SandboxView;
  listSettings(caller: Caller): Answer<SettingView[]>;
  changeSetting(caller: Caller, name: string, value: string | number | boolean): Answer<SettingView>;
  doctor(caller: Caller, options: { deep: boolean }): Answer<DoctorReport>;
  events(caller: Caller, query: EventQuery): Answer<EventPage>;
  /** The oldest and the newest readable `seq` (0 and 0 when there is none). */
  eventBounds(): Promise<{ oldest: number; head: number }>;
  /** Calls `listener` whenever new events are readable; gives the function that ends it. */
  onEvents(listener: () => void): () => void;
  verifyAudit(caller: Caller): Answer<AuditVerdict>;
  /** One JSON line for each event of the view, oldest first, each ending with a line feed. */
  exportAudit(caller: Caller, query: AuditExportQuery): AsyncIterable<string>;
  backup(caller: Caller, request: { path?: string | undefined }): Answer<BackupView>;
  /** What happened since so long ago (`8h`), for somebody who comes back. */
  recap(caller: Caller, since: string): Answer<RecapView>;
  /** Before the server ends: names the sessions that go on, or ends them. */
  prepareDown(caller: Caller, request: { stopAgents: boolean }): Answer<DownView>;
  /** Rejects when the store cannot be used: what `/readyz` asks. */
  checkReady(): Promise<void>;
  /** Gauges for `/metrics`: name (`chantier_…`), help, samples. */
  metrics(): Promise<
    readonly { name: string; help: string; samples: readonly { labels?: Record<string, string>; value: number }[] }[]
  >;
}

/** Ways to the human outside of the console. Setting one up takes fresh proof: owner list, token and address are credentials. */
export interface NotifyUseCases {
  show(caller: Caller): Answer<NotifyView>;
  setTelegram(caller: Caller, token: string): Answer<NotifyView>;
  removeTelegram(caller: Caller): Answer<{ removed: boolean }>;
  setWebhook(caller: Caller, setup: WebhookSetup): Answer<NotifyView>;
  removeWebhook(caller: Caller): Answer<{ removed: boolean }>;
  /** `operator`: whom the Telegram user decides as; default the caller. */
  addOwner(caller: Caller, telegramId: string, operator?: string): Answer<OwnerView>;
  removeOwner(caller: Caller, telegramId: string): Answer<{ removed: boolean }>;
  /** Sends one message to each receiver at once. */
  test(caller: Caller): Answer<NotifyTestView>;
}

/** What agents call. `caller.actor` is the session of the token, its generation included; a stale generation is refused. */
export interface AgentSideUseCases {
  reportStatus(caller: Caller, report: StatusReport): Answer<HeardView>;
  /** Stores the question once for `caller.idempotencyKey` and returns at once. */
  askHuman(caller: Caller, text: string): Answer<QuestionView>;
  /** Waits up to `waitMs` for the answer of question `id` (`latest` = the newest of this session). Still open after that is no refusal. */
  waitAnswer(caller: Caller, id: string, waitMs: number): Answer<QuestionView>;
  reportCheckpoint(caller: Caller, checkpoint: Checkpoint): Answer<HeardView>;
  reportDone(caller: Caller, summary: string): Answer<CompletionView>;
  submitReview(caller: Caller, review: ReviewSubmission): Answer<ReviewReceipt>;
  listPeers(caller: Caller): Answer<PeerView[]>;
  sendMessage(caller: Caller, message: { to: string; text: string }): Answer<{ id: string }>;
  /** Acknowledges `ack`, then gives what is still unread. */
  checkMessages(caller: Caller, ack: string[]): Answer<MessageView[]>;
  setSummary(caller: Caller, text: string): Answer<HeardView>;
  taskReady(caller: Caller, limit: number): Answer<TaskView[]>;
  taskClaim(caller: Caller, task: string): Answer<ClaimView>;
  taskUpdate(caller: Caller, task: string, change: AgentTaskChange): Answer<TaskView>;
}

/**
 * What outside clients reach through the claude-peers port (sessions decision 10). They have no identity that we believe, so
 * there is no `Caller`, and nothing here decides, commands, or reads what is not theirs.
 */
export interface PeersUseCases {
  /** Where the port should be open now, 0 = nowhere, and the token that it asks for. */
  wanted(): { port: number; token: string | undefined };
  /** Called when `wanted` may have changed. */
  onSettings(listener: () => void): () => void;
  register(client: OutsideRegistration): Answer<{ id: string }>;
  heartbeat(id: string): Promise<void>;
  setSummary(id: string, summary: string): Promise<void>;
  list(query: PeersQuery): Promise<OutsidePeerView[]>;
  send(message: { from: string; to: string; text: string }): Answer<undefined>;
  take(id: string, how: 'poll' | 'peek'): Promise<OutsideMessageView[]>;
  ack(ids: readonly number[], id?: string): Promise<number>;
  unregister(id: string): Promise<void>;
  /** What is due each 30 s: clients that have gone, messages that nobody fetched for a day. */
  tidy(): Promise<void>;
  /** Writes what became of the port into the log. */
  note(what: { kind: 'failed'; code: string } | { kind: 'opened'; port: number } | { kind: 'closed' }): Promise<void>;
}
