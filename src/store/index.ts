export { backOffMs } from './back-off.ts';
export type { DecisionKind, NewDecision } from './decision-requests.ts';
export { decisionKinds, openDecision, settleDecision, voidDecisions } from './decision-requests.ts';
export { reviveEffect } from './effect-store.ts';
export { effectsTopic, enqueueEffect } from './effects.ts';
export type { EventKind } from './event-kinds/index.ts';
export { eventKinds } from './event-kinds/index.ts';
export type { SequencedRow } from './events.ts';
export {
  eachEvent,
  exportEvents,
  formatAnchor,
  parseAnchor,
  readAnchor,
  verifyExport,
  verifyStore,
} from './export-events.ts';
export type { EventFilter } from './event-tail.ts';
export type { Following } from './follow-events.ts';
export { followEvents } from './follow-events.ts';
export type { Housekeeping } from './housekeeping.ts';
export { startHousekeeping } from './housekeeping.ts';
export type { HumanAct } from './human-act.ts';
export { decideAsHuman, refuseUnlessHuman } from './human-act.ts';
export type { Keyed, KeyedOutcome, KeyedRequest } from './idempotency.ts';
export { idempotencyTtlMs, lookUpKey, onceForKey, purgeExpiredKeys, rememberKey } from './idempotency.ts';
export type { Lease, LeaseSubject } from './leases.ts';
export { acquireLease, checkFence, hasExpired, liveLease, releaseLease, renewLease } from './leases.ts';
export type { StoreLocation } from './open.ts';
export { openStore } from './open.ts';
export type { PostgresOptions } from './postgres/open.ts';
export { openPostgres } from './postgres/open.ts';
export type { EventQuery } from './read-events.ts';
export { readEventBounds, readEvents } from './read-events.ts';
export type { PassContext, PassOutcome, Reconciler, ReconcilerOptions } from './reconciler.ts';
export { done, failed, gaveUp, lookAgainIn, startReconciler } from './reconciler.ts';
export type { EffectExecutor, EffectHandler, EffectKind, EffectsOptions, EffectTry } from './run-effects.ts';
export { startEffects } from './run-effects.ts';
export type { DecisionRequestRow, EffectRow, EventRow, LeaseRow } from './schema/core.ts';
export type { Schema } from './schema/index.ts';
export { backUpDatabase, readCopiedHead } from './sqlite/backup.ts';
export { checkIntegrity } from './sqlite/check-integrity.ts';
export type { InstanceLock, LockPaths, RunningServer } from './sqlite/instance-lock.ts';
export { acquireInstanceLock, bootId, readRunningServer } from './sqlite/instance-lock.ts';
export { openSqlite } from './sqlite/open.ts';
export type { NewEvent, Store, Tx } from './store.ts';
export { eventsTopic } from './store.ts';
export type { Anchor, ChainReport } from './verify-chain.ts';
export { verifyChain } from './verify-chain.ts';
