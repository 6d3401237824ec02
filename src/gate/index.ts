export type { CallDecision, DecidedCall } from './decide-call.ts';
export { approveCall, approveCallForGood, recordOutcome, refuseCall } from './decide-call.ts';
export type {
  CallServer,
  CallState,
  CallView,
  Decision,
  GateCall,
  Judgement,
  PreparedCall,
  Requirement,
  ToolKind,
} from './call.ts';
export { approvalTtlMs, callMoves, callStateDocs, callsTopic, maxOpenCalls, toolKinds } from './call.ts';
export type { CallContext } from './call-from-acp.ts';
export { callFromAcp, unknownServer } from './call-from-acp.ts';
export { listCalls, readCall } from './call-store.ts';
export type { Capability, CapabilityStatus, RecordedTier, Tier, ToolAnnotations } from './capability.ts';
export { assertNoEscalation, capabilityMoves, capabilityStateDocs, graceMs, tierOf } from './capability.ts';
export { listCapabilities, readCapability } from './capability-store.ts';
export type { CapabilityDecision, DecidedCapability } from './decide-capability.ts';
export { approveCapability, reclassifyCapability, refuseCapability } from './decide-capability.ts';
export { definitionHash } from './definition.ts';
export { expiryIntervalMs, runExpiryOnce } from './expire-capabilities.ts';
export type { Guard } from './guard.ts';
export { guardOf } from './guard.ts';
export { judgeCall } from './judge-call.ts';
export type { PolicySources } from './load-policy.ts';
export { loadPolicy } from './load-policy.ts';
export type { Phase } from './phase.ts';
export { operatingPhase, visibleTools } from './phase.ts';
export type { GatePolicy, PolicyRule, Preset } from './policy.ts';
export { presets } from './policy.ts';
export { prepareCall } from './prepare-call.ts';
export type { CallPreview } from './preview.ts';
export { makeVisible, maxPreviewLength, previewOf } from './preview.ts';
export { proposeTier } from './propose-tier.ts';
export type { Redacted } from './redact.ts';
export { redactSecrets } from './redact.ts';
export { spendApproval } from './spend-approval.ts';
export { closeSessionCalls } from './void-calls.ts';
