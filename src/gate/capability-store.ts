import type { Kysely } from 'kysely';

import { type Actor, type CapabilityId, refuse, type Refused, statesBefore } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import {
  type Capability,
  capabilityMoves,
  capabilityOf,
  type CapabilityStatus,
  type RecordedTier,
} from './capability.ts';

/** The capability with this id, or `undefined`. */
export async function readCapability(db: Kysely<Schema>, id: string): Promise<Capability | undefined> {
  const row = await db.selectFrom('capability').selectAll().where('id', '=', id).executeTakeFirst();
  return row && capabilityOf(row);
}

/** Capabilities, those that end their grace first in front (G-19). `limit` 1 to 500. */
export async function listCapabilities(
  db: Kysely<Schema>,
  filter: { status?: CapabilityStatus; limit?: number } = {},
): Promise<Capability[]> {
  let query = db.selectFrom('capability').selectAll();
  if (filter.status) query = query.where('status', '=', filter.status);
  const rows = await query
    .orderBy((eb) => eb.fn.coalesce('expires_at', eb.lit(9_000_000_000_000_000)))
    .orderBy('created_at')
    .orderBy('id')
    .limit(filter.limit ?? 100)
    .execute();
  return rows.map(capabilityOf);
}

/** As `readCapability`, held until the transaction ends (`FOR UPDATE` on PostgreSQL). */
export async function holdCapability(tx: Tx, id: string): Promise<Capability | undefined> {
  let query = tx.db.selectFrom('capability').selectAll().where('id', '=', id);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  return row && capabilityOf(row);
}

/** What a move of a capability's status writes besides it. */
export interface StatusMove {
  to: CapabilityStatus;
  actor: Actor;
  /** Machine word: `expired`, `approved`, `definition_changed`, … */
  reason: string;
  /** Set when somebody decided: operator id, `preset:…` or `rule:…`. */
  decidedBy?: string;
  note?: string;
}

/** Moves the status by the table of moves, with its event; a move that is not listed is refused (G-5). */
export async function moveStatus(tx: Tx, capability: Capability, move: StatusMove): Promise<Capability | Refused> {
  const row = await tx.db
    .updateTable('capability')
    .set({
      status: move.to,
      ...(move.to === 'approved' ? { expires_at: null } : {}),
      ...(move.decidedBy === undefined
        ? {}
        : { decided_by: move.decidedBy, decided_at: tx.now, decision_note: move.note ?? null }),
    })
    .where('id', '=', capability.id)
    .where('status', 'in', statesBefore(capabilityMoves, move.to))
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    return refuse(
      'wrong-state',
      'capability_move',
      `Capability ${capability.id} is ${capability.status} and cannot become ${move.to}.`,
      { id: capability.id, state: capability.status },
    );
  }
  await tx.emit({
    kind: 'capability.status-changed',
    actor: move.actor,
    subject: { kind: 'capability', id: capability.id },
    facts: {
      from: capability.status,
      to: move.to,
      reason: move.reason,
      tier: row.risk_tier,
      version: row.version,
      decided_by: row.decided_by,
    },
  });
  return capabilityOf(row);
}

/** Sets the tier, with its event. A raised tier blocks what was approved or provisional (G-8). */
export async function moveTier(
  tx: Tx,
  capability: Capability,
  move: { to: RecordedTier; actor: Actor; reason: string },
): Promise<Capability> {
  const isRaised = move.to === 'privileged';
  let current = capability;
  if (isRaised && (current.status === 'approved' || current.status === 'provisional')) {
    const blocked = await moveStatus(tx, current, { to: 'blocked', actor: move.actor, reason: 'tier_raised' });
    if (!('ok' in blocked)) current = blocked;
  }
  const row = await tx.db
    .updateTable('capability')
    .set({ risk_tier: move.to, ...(isRaised ? { expires_at: null } : {}) })
    .where('id', '=', capability.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.emit({
    kind: 'capability.tier-changed',
    actor: move.actor,
    subject: { kind: 'capability', id: capability.id },
    facts: { from: capability.tier, to: move.to, reason: move.reason, version: row.version },
  });
  return capabilityOf(row);
}

/** Counts one call that was let through; tells whether it was the first run of a provisional one (G-12, G-14). */
export async function countRun(tx: Tx, capability: Capability, sessionId: string): Promise<boolean> {
  await tx.db
    .updateTable('capability')
    .set((eb) => ({ exec_count: eb('exec_count', '+', 1) }))
    .where('id', '=', capability.id)
    .execute();
  if (capability.status !== 'provisional') return false;
  const first = await tx.db
    .updateTable('capability')
    .set({ first_exec_alerted_at: tx.now })
    .where('id', '=', capability.id)
    .where('first_exec_alerted_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (!first) return false;
  await tx.emit({
    kind: 'capability.first-run',
    actor: { kind: 'system', id: 'gate' },
    subject: { kind: 'capability', id: capability.id },
    sessionId,
    facts: { tier: capability.tier, expires_at: capability.expiresAt, version: capability.version },
  });
  return true;
}

export function unknownCapability(id: string): Refused {
  return refuse('not-found', 'unknown_capability', `unknown id ${id}`, { id });
}

/** Ids as the rows of calls keep them. */
export function capabilityIds(json: string): CapabilityId[] {
  return JSON.parse(json) as CapabilityId[];
}
