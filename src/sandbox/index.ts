export type { RunOptions, RunOutcome } from './run-in-sandbox.ts';
export { runInSandbox, startWrapped } from './run-in-sandbox.ts';
export { askToEnd, findByRunMarker, insidePids, killTree, runMarkerName, sweepRun } from './end-processes.ts';
export type { EnvironmentParts } from './environment.ts';
export { buildEnvironment, environmentNameFault, systemPath } from './environment.ts';
export type { OpenedSandbox, OpenSandboxOptions, SandboxMode } from './open-sandbox.ts';
export { openSandbox } from './open-sandbox.ts';
export type { ProbeEffect, ProbeReport } from './probe-report.ts';
export type {
  EnforcedLimits,
  Mount,
  ProfileKind,
  Sandbox,
  SandboxLimits,
  SandboxProfile,
  WrappedCommand,
} from './profile.ts';
