export type { Actor } from './actor.ts';
export { systemActor } from './actor.ts';
export type { Clock, ManualClock } from './clock.ts';
export { manualClock, systemClock, toRfc3339 } from './clock.ts';
export { digestOf, sameSecret, sha256, shortHmac } from './digest.ts';
export { globFault, matchesGlob } from './glob.ts';
export type {
  AgentId,
  CallId,
  CapabilityId,
  DecisionId,
  EscalationId,
  Id,
  JobId,
  LandingId,
  OperatorId,
  ProjectId,
  PullRequestId,
  RepositoryId,
  SessionId,
  TaskId,
  VerdictId,
} from './ids.ts';
export { newId, newShortId } from './ids.ts';
export type { Json } from './json.ts';
export { canonicalJson } from './json.ts';
export type { MoveTable } from './moves.ts';
export { isTerminal, mayMove, statesBefore } from './moves.ts';
export type { Ok, Refusal, RefusalKind, Refused, Result } from './result.ts';
export { Fault, isRefused, mustOk, ok, refusalOutcomes, refuse } from './result.ts';
export { codenamePattern, forLog, idempotencyKeyPattern, idFault, textFault } from './text.ts';
