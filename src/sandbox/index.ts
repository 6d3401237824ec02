export type { RunOptions, RunOutcome } from './run-in-sandbox.ts';
export { runInSandbox, startWrapped } from './run-in-sandbox.ts';
export { askToEnd, findByRunMarker, insidePids, killTree, runMarkerName, sweepRun } from './end-processes.ts';
export type { EnvironmentParts } from './environment.ts';
export { buildEnvironment, environmentNameFault, systemPath } from './environment.ts';
export type { OpenedSandbox, OpenSandboxOptions, SandboxMode } from './open-sandbox.ts';
export { openSandbox } from './open-sandbox.ts';
export type { ProbeOptions } from './probe/probe-sandbox.ts';
export { probeSandbox } from './probe/probe-sandbox.ts';
export type { ProbeEffect, ProbeReport } from './probe/report.ts';
export { giveToOwner } from './bubblewrap/owner.ts';
export type { DenialReason, WallRule } from './wall/rules.ts';
export type { WallDenial } from './wall/denials.ts';
export type { Admission, Wall, WallOptions } from './wall/start-wall.ts';
export { adoptWall, startWall } from './wall/start-wall.ts';
export type { WallKeeper, WallKeeperOptions } from './wall/keep-wall.ts';
export { keepWall } from './wall/keep-wall.ts';
export type {
  EnforcedLimits,
  Mount,
  ProfileKind,
  Sandbox,
  SandboxLimits,
  SandboxProfile,
  WrappedCommand,
} from './profile.ts';
export type { WorkFile } from './read-work-file.ts';
export { readWorkFile } from './read-work-file.ts';
export { shellScriptOf } from './shell-script.ts';
export type { UploadPackOptions } from './upload-pack.ts';
export { writeUploadPack } from './upload-pack.ts';
export type { CarriedIn, CarryOptions } from './carry/carry-in.ts';
export { carryIn } from './carry/carry-in.ts';
export { filterNpmrc } from './carry/npmrc.ts';
export type { AgentNeeds, AgentProgram } from './agents.ts';
export { agentNeeds, agentProgramOf, agentPrograms } from './agents.ts';
export { agentNameOf } from './agent-name.ts';
export type { SandboxFigures } from './bench-sandbox.ts';
export { benchSandbox } from './bench-sandbox.ts';
export type { CredentialOptions } from './credentials.ts';
export { prepareCredentials, returnCredentials } from './credentials.ts';
export type { LogIn } from './read-log-in.ts';
export { readLogIn } from './read-log-in.ts';
