/** Drivers: one event model and one link for every kind of agent (decisions 3 to 6 and 8). */
export { acpDriver } from './acp/acp-driver.ts';
export { agentProfiles, findAgentProfile, profileForCommand } from './agent-profiles.ts';
export { claudeDriver } from './claude/claude-driver.ts';
export { codexDriver } from './codex/codex-driver.ts';
export { commandDriver } from './command/command-driver.ts';
export type {
  AgentLink,
  AgentProfile,
  AgentQuirks,
  AttachOptions,
  Driver,
  DriverSink,
  LinkPace,
  LinkSnapshot,
  McpServerSpec,
  StartArguments,
  TerminalControl,
} from './driver.ts';
export type {
  DriverEvent,
  EventBatch,
  LivenessEvent,
  PermissionChoice,
  PermissionView,
  PromptVerdict,
  QuestionAnswer,
  QuestionView,
  StartFailure,
  ToolCallView,
  TurnOutcome,
  TurnState,
} from './driver-event.ts';
export { driverFor } from './driver-for.ts';
export { firstStartFiles } from './first-start.ts';
export { interactiveCommand, type TerminalSession } from './interactive-command.ts';
