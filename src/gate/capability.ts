import type { Actor, CapabilityId, MoveTable } from '../kernel/index.ts';
import { Fault } from '../kernel/index.ts';
import type { CapabilityRow } from './rows.ts';

/** How dangerous an operation is before it runs (G6.1). Read-only operations have no record. */
export type Tier = 'read-only' | 'reversible' | 'privileged';
export type RecordedTier = Exclude<Tier, 'read-only'>;

/** Grace is exactly 7 × 24 h; nothing can lengthen it (G-6). */
export const graceMs = 7 * 24 * 60 * 60 * 1000;

export type CapabilityStatus = CapabilityRow['status'];

/**
 * Moves of a capability (G-5). `provisional`: the clock blocks it, a human approves or refuses it. `approved`: a human revokes it; a raised
 * tier or changed definition blocks it. `refused`: a human reinstates it with a note. `blocked`: a human decides.
 */
export const capabilityMoves: MoveTable<CapabilityStatus> = {
  provisional: ['approved', 'refused', 'blocked'],
  approved: ['refused', 'blocked'],
  refused: ['approved'],
  blocked: ['approved', 'refused'],
};

/** Each status with who leaves it; the state page of the docs is made from this. */
export const capabilityStateDocs: Readonly<Record<CapabilityStatus, string>> = {
  provisional: 'May run for 7 days. The clock blocks it then; a human may approve or refuse it before.',
  approved: 'May run, by a human or by a preset. A human revokes it; a raised tier or a changed definition blocks it.',
  refused: 'May not run, by a human. Only a human brings it back, with a note.',
  blocked: 'May not run until a human decides: unknown and privileged, or its days of grace are over.',
};

/** What names a capability; the definition hash decides the version. */
export interface CapabilityKey {
  type: CapabilityRow['type'];
  name: string;
  /** Identity of the server, empty for tools that the agent brings itself. */
  server: string;
}

/** What has to be known to record a capability. */
export interface CapabilityDefinition extends CapabilityKey {
  serverLabel: string;
  version: string;
  definitionHash: string;
  /** The raw definition, for the diff. */
  definition?: string;
  tier: RecordedTier;
  /** The commit and the page that introduced it (G-29); left out for what agents bring. */
  commitLink?: string;
  docLink?: string;
}

/** A capability as used; times in epoch ms. */
export interface Capability extends CapabilityKey {
  id: CapabilityId;
  serverLabel: string;
  version: string;
  definitionHash: string;
  definition: string | null;
  tier: RecordedTier;
  status: CapabilityStatus;
  createdAt: number;
  expiresAt: number | null;
  execCount: number;
  refusedCount: number;
  commitLink: string | null;
  docLink: string | null;
  decidedBy: string | null;
  decidedAt: number | null;
  decisionNote: string | null;
  firstExecAlertedAt: number | null;
}

/** What a server says of a tool; hints that anybody may lie about. */
export interface ToolAnnotations {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/**
 * Tier of an MCP tool from its annotations (G6.1). Without trust annotations only raise: a claimed read-only tool counts
 * as reversible. An operator's `override` decides; `previous` (tier of the earlier definition) never falls (decision 3).
 */
export function tierOf(
  annotations: ToolAnnotations | undefined,
  context: { isTrusted: boolean; override?: Tier; previous?: RecordedTier },
): Tier {
  if (context.override) return context.override;
  const claimed = claimedTier(annotations);
  const earned = claimed === 'read-only' && !context.isTrusted ? 'reversible' : claimed;
  return context.previous ? higherTier(earned, context.previous) : earned;
}

function claimedTier(annotations: ToolAnnotations | undefined): Tier {
  if (annotations?.readOnlyHint === true && annotations.destructiveHint !== true) return 'read-only';
  return annotations?.destructiveHint === false ? 'reversible' : 'privileged';
}

const tierOrder: readonly Tier[] = ['read-only', 'reversible', 'privileged'];

export function higherTier(a: Tier, b: Tier): Tier {
  return tierOrder.indexOf(a) >= tierOrder.indexOf(b) ? a : b;
}

/** Throws `Fault` `tier_escalation` when anyone but a human lowers a tier; raising is open to all (G-8). */
export function assertNoEscalation(actor: Actor, from: RecordedTier, to: RecordedTier): void {
  if (tierOrder.indexOf(to) >= tierOrder.indexOf(from) || actor.kind === 'operator') return;
  throw new Fault(
    'tier_escalation',
    `${actor.kind} ${actor.id} may not lower a tier from ${from} to ${to}; a human has to.`,
  );
}

export function capabilityOf(row: CapabilityRow): Capability {
  return {
    id: row.id as CapabilityId,
    type: row.type,
    name: row.name,
    server: row.server,
    serverLabel: row.server_label,
    version: row.version,
    definitionHash: row.definition_hash,
    definition: row.definition,
    tier: row.risk_tier,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    execCount: row.exec_count,
    refusedCount: row.refused_count,
    commitLink: row.commit_link,
    docLink: row.doc_link,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at,
    decisionNote: row.decision_note,
    firstExecAlertedAt: row.first_exec_alerted_at,
  };
}
