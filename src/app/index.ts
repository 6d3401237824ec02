export type {
  Access,
  AccessParts,
  Credentials,
  DecidingAct,
  Door,
  FreshAct,
  Identity,
  LookUpSession,
  RefusedRequest,
} from './access/index.ts';
export {
  actOfDecision,
  createAccess,
  ensureOperatorToken,
  firstRunTtlMs,
  freshActs,
  hashSecret,
  logInTtlMs,
  newSecret,
  proofFor,
  proofTtlMs,
  requireProof,
  unlockIdleMs,
  unlockTtlMs,
} from './access/index.ts';
export { type MachineWatch, watchMachine } from './dispatch/watch-machine.ts';
export type {
  AgentSideUseCases,
  Answer,
  App,
  DecisionUseCases,
  GateUseCases,
  InstanceUseCases,
  PeersUseCases,
  RepositoryUseCases,
  ReviewUseCases,
  SessionUseCases,
  WorkUseCases,
} from './app.ts';
export type { Caller, ProofStrength } from './caller.ts';
export type { AgentDoors, AppContext, Barrier, Bridge } from './context.ts';
export type { OwnTools } from './launch/own-tools.ts';
export type { AppParts, RunningApp } from './create-app.ts';
export { createApp } from './create-app.ts';
export type { Restored, RestoreRequest } from './backup/restore-home.ts';
export { readInterruptedRestore, restoreHome } from './backup/restore-home.ts';
export { readStoredSettings } from './instance/change-setting.ts';
