import { type Actor, newId, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import type { LeaseRow } from './schema/core.ts';
import type { Tx } from './store.ts';

/** What a lease is on: a task's `dispatcher` slot, a pull request's `reviewer`, … (README 2.2 of the specification). */
export interface LeaseSubject {
  resourceType: string;
  resourceId: string;
  slot: string;
}

/** A held lease; every later write of its holder carries `fence`. */
export interface Lease extends LeaseSubject {
  id: string;
  holder: string;
  /** Grows by one with each new holder of the slot. */
  fence: number;
}

/**
 * Takes the lease, or renews it when `holder` has it already. An expired one is taken over (expired when now ≥ last
 * activity + TTL). `ttlMs: null` never expires by time; `quiet` makes no event. Refuses with `held` and names the holder.
 */
export async function acquireLease(
  tx: Tx,
  subject: LeaseSubject,
  request: { holder: string; ttlMs: number | null; actor: Actor; quiet?: boolean },
): Promise<Result<Lease>> {
  const live = await liveLease(tx, subject);
  if (live && live.holder === request.holder && !hasExpired(live, tx.now)) {
    await tx.db.updateTable('lease').set({ last_activity_at: tx.now }).where('id', '=', live.id).execute();
    return ok(leaseOf(live));
  }
  if (live && !hasExpired(live, tx.now)) {
    return refuse(
      'held',
      'lease_held',
      `${subject.resourceType} ${subject.resourceId} is held by ${live.holder} (${subject.slot})`,
      {
        holder: live.holder,
        since: live.acquired_at,
      },
    );
  }
  if (live) await endLease(tx, live, { ...request, reason: 'expired' });
  const last = await tx.db
    .selectFrom('lease')
    .select((eb) => eb.fn.max('fence').as('fence'))
    .where('resource_type', '=', subject.resourceType)
    .where('resource_id', '=', subject.resourceId)
    .where('slot', '=', subject.slot)
    .executeTakeFirst();
  const row: LeaseRow = {
    id: newId(),
    resource_type: subject.resourceType,
    resource_id: subject.resourceId,
    slot: subject.slot,
    holder: request.holder,
    fence: Number(last?.fence ?? 0) + 1,
    acquired_at: tx.now,
    last_activity_at: tx.now,
    ttl_ms: request.ttlMs,
    released_at: null,
    reason: null,
  };
  await tx.db.insertInto('lease').values(row).execute();
  if (!request.quiet) {
    await tx.emit({
      kind: 'lease.acquired',
      actor: request.actor,
      subject: { kind: subject.resourceType, id: subject.resourceId },
      facts: { slot: subject.slot, holder: request.holder, fence: row.fence },
    });
  }
  return ok(leaseOf(row));
}

/**
 * Keeps a lease alive; refuses with `held`/`lease_lost` when `fence` is no longer the live one or it has expired. With
 * `evenIfExpired` the time does not matter: for a holder that was proved alive and that nobody has replaced (design 5).
 */
export async function renewLease(
  tx: Tx,
  subject: LeaseSubject,
  fence: number,
  options: { evenIfExpired?: boolean } = {},
): Promise<Result<undefined>> {
  const live = await liveLease(tx, subject);
  const isMine = live?.fence === fence && (options.evenIfExpired === true || !hasExpired(live, tx.now));
  if (!isMine) return lost(subject, fence, live);
  await tx.db.updateTable('lease').set({ last_activity_at: tx.now }).where('id', '=', live.id).execute();
  return ok();
}

/** The live lease, if `fence` is its number: what every write of a holder asks first (L-52). */
export async function checkFence(tx: Tx, subject: LeaseSubject, fence: number): Promise<Result<Lease>> {
  const live = await liveLease(tx, subject);
  if (live && live.fence === fence && !hasExpired(live, tx.now)) return ok(leaseOf(live));
  return lost(subject, fence, live);
}

/** Gives the lease back; nothing happens when it is not held any more (idempotent). `fence` limits it to that holding. */
export async function releaseLease(
  tx: Tx,
  subject: LeaseSubject,
  request: { reason: string; actor: Actor; fence?: number; quiet?: boolean },
): Promise<boolean> {
  const live = await liveLease(tx, subject);
  if (!live || (request.fence !== undefined && live.fence !== request.fence)) return false;
  await endLease(tx, live, request);
  return true;
}

/** The unreleased row of a slot, expired or not. */
export async function liveLease(tx: Tx, subject: LeaseSubject): Promise<LeaseRow | undefined> {
  let query = tx.db
    .selectFrom('lease')
    .selectAll()
    .where('resource_type', '=', subject.resourceType)
    .where('resource_id', '=', subject.resourceId)
    .where('slot', '=', subject.slot)
    .where('released_at', 'is', null);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  return query.executeTakeFirst();
}

/** Whether a lease's time is over: now ≥ last activity + TTL (L decision 23). */
export function hasExpired(lease: Pick<LeaseRow, 'ttl_ms' | 'last_activity_at'>, now: number): boolean {
  return lease.ttl_ms !== null && now >= lease.last_activity_at + lease.ttl_ms;
}

function lost(subject: LeaseSubject, fence: number, live: LeaseRow | undefined): Refused {
  return refuse(
    'held',
    'lease_lost',
    `The lease on ${subject.resourceType} ${subject.resourceId} (${subject.slot}) is no longer yours.`,
    { fence, holder: live?.holder ?? null },
  );
}

async function endLease(tx: Tx, row: LeaseRow, end: { reason: string; actor: Actor; quiet?: boolean }): Promise<void> {
  await tx.db.updateTable('lease').set({ released_at: tx.now, reason: end.reason }).where('id', '=', row.id).execute();
  if (end.quiet) return;
  await tx.emit({
    kind: 'lease.released',
    actor: end.actor,
    subject: { kind: row.resource_type, id: row.resource_id },
    facts: { slot: row.slot, holder: row.holder, fence: row.fence, reason: end.reason },
  });
}

function leaseOf(row: LeaseRow): Lease {
  return {
    id: row.id,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    slot: row.slot,
    holder: row.holder,
    fence: row.fence,
  };
}
