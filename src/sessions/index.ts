/** Sessions: one run of one agent on one piece of work, supervised, never lost. */
export type { AskOutcome, WaitOptions } from './agent-side/ask-human.ts';
export { canPunchHoles, endLivingRuns, findLivingRuns, findOwnScope } from './host/index.ts';
export { askHuman, defaultAskBudgetMs, waitAnswer } from './agent-side/ask-human.ts';
export { checkMessages, listPeersFor, sendMessage } from './agent-side/messages.ts';
export { markDone, reportCheckpoint, reportStatus, setSummary } from './agent-side/report.ts';
export { adoptNode, bindTaskClaim, revokeTokens } from './bind-task.ts';
export type { Broker, BrokerMessage, BrokerStatus, Peer } from './broker.ts';
export { brokerDown, createBroker, storeMessage } from './broker.ts';
export type { CommandAnswer, CommandArguments, CommandName } from './commands/execute-command.ts';
export { commandNames, executeCommand, recordRejection } from './commands/execute-command.ts';
export type { Caller } from './commands/guards.ts';
export { goOn, pauseSession, resumeSession } from './commands/pause-session.ts';
export { respond } from './commands/respond.ts';
export type { StartRequest } from './commands/start-session.ts';
export { startSession } from './commands/start-session.ts';
export { stopSession } from './commands/stop-session.ts';
export type {
  AgentProfile,
  LinkPace,
  McpServerSpec,
  PermissionChoice,
  TerminalControl,
  ToolCallView,
} from './drivers/index.ts';
export {
  agentProfiles,
  driverFor,
  findAgentProfile,
  firstStartFiles,
  interactiveCommand,
  profileForCommand,
  type TerminalSession,
} from './drivers/index.ts';
export { endSession } from './end-session.ts';
export { evidenceOf } from './evidence.ts';
export { fields } from './fields.ts';
export { budgetReason, pauseForBudget } from './hold-turn.ts';
export {
  ackOutside,
  dismissOutside,
  forgetOutside,
  heartbeatOutside,
  listOutside,
  maxOutsidePeers,
  outsideWords,
  portActor,
  reapOutside,
  registerOutside,
  sendFromOutside,
  setOutsideSummary,
  takeOutside,
  unregisterOutside,
} from './peers/index.ts';
export type { OutsideRegistration } from './peers/index.ts';
export { answerPermission, askOf as permissionAskOf } from './permissions.ts';
export type {
  BookedUsage,
  LaunchPlan,
  PermissionAsk,
  PermissionJudgement,
  SessionContext,
  SessionEnd,
  SessionPorts,
  SessionSettings,
  SupervisorOptions,
  UsageEvent,
} from './ports.ts';
export { defaultSessionSettings } from './ports.ts';
export { rejectionLine } from './rejection-log.ts';
export { enqueuePrompt, waitingTexts } from './prompts.ts';
export type { CommandResult, Session } from './session.ts';
export { toSession } from './session.ts';
export type { SessionRole, SessionRow, TokenHolder } from './session-store.ts';
export {
  countActive,
  findActiveByWorkKey,
  findByToken,
  findByTokenHash,
  findLastByWorkKey,
  findSession,
  lockSession,
} from './session-store.ts';
export type { SessionState, TerminalState } from './states.ts';
export {
  activeStates,
  allowedTransitions,
  isTerminal,
  sessionMoves,
  sessionStateDocs,
  sessionStates,
} from './states.ts';
export type { EscalationView, Fact, SessionView } from './status.ts';
export { listEscalations, readStatus } from './status.ts';
export type { AccountState } from './account-limits.ts';
export { mayUseAccount, probeAccount, readAccount, readLimitedAccounts, reopenAccount } from './account-limits.ts';
export type { StoppedSession } from './supervisor/stop-all.ts';
export type { Supervisor } from './supervisor/supervisor.ts';
export { startSupervisor } from './supervisor/supervisor.ts';
export { unfinishedSessions } from './supervisor/supervisor-state.ts';
export { handBack, notTakenOver, stillEnding } from './takeover/hand-back.ts';
export { takeOver } from './takeover/take-over.ts';
export type { TakeoverRow } from './takeover/takeover-store.ts';
export { countTerminal, lastHandback, noteStart, openTakeover, terminalMarker } from './takeover/takeover-store.ts';
export type { PromptView } from './tell-session.ts';
export { tellSession, waitPrompt } from './tell-session.ts';
export type { TranscriptLine, TranscriptPage, TranscriptRange } from './transcript.ts';
export { readTranscript } from './transcript.ts';
export { sessionsTopic, transition } from './transition.ts';
export { generationFolder } from './host/index.ts';
export { type JournalHit, type JournalSearch, searchJournal } from './search/search-journal.ts';
export { searchTexts, type TextHit, type TextPlaces } from './search/search-texts.ts';
export { SearchPace } from './search/pace.ts';
export { parseWords, type SearchWords } from './search/search-words.ts';
export { type ProcessEnd, readEnd } from './read-end.ts';
export { readableEntries } from './readable/readable-line.ts';
export type { ReadableEntry } from './readable/frame.ts';
export { answerWatched, waitWatched, type WatchedOutcome, withdrawWatched } from './watched/answer-watched.ts';
export { type HookOrder, reportWatched, type ShowRequest, type WatchedHook } from './watched/report-watched.ts';
export { forgetWatched } from './watched/forget-watched.ts';
export { type HeardHooks, sweepWatched } from './watched/sweep-watched.ts';
export { listWatched } from './watched/watched-store.ts';
