import { type CapabilityId, newShortId, systemActor } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import {
  type Capability,
  type CapabilityDefinition,
  capabilityOf,
  type CapabilityStatus,
  graceMs,
  higherTier,
  type RecordedTier,
} from './capability.ts';
import { holdCapability, moveStatus, moveTier } from './capability-store.ts';
import { graceNow } from './grace-clock.ts';
import { voidCalls } from './void-calls.ts';

const gate = systemActor('gate');

/**
 * The record of a definition, held until the transaction ends; made when it is not known (G-2, G-4). `openedBy` names the rule
 * or preset that lets it pass (`rule:instance:1`): it is then approved by it, and loses that approval as soon as nothing opens it
 * any more. What a human refused stays refused.
 */
export async function ensureCapability(
  tx: Tx,
  definition: CapabilityDefinition,
  openedBy?: string,
): Promise<Capability> {
  const known = await findDefinition(tx, definition);
  if (!known) return createCapability(tx, definition, openedBy);
  let capability = known;
  if (capability.tier === 'reversible' && definition.tier === 'privileged' && openedBy === undefined) {
    capability = await moveTier(tx, capability, { to: 'privileged', actor: gate, reason: 'classified' });
    await voidCalls(tx, { capabilityId: capability.id, reason: 'tier_raised' });
  }
  if (openedBy !== undefined && (capability.status === 'blocked' || capability.status === 'provisional')) {
    return moved(
      capability,
      await moveStatus(tx, capability, {
        to: 'approved',
        actor: gate,
        reason: 'opened_by_policy',
        decidedBy: openedBy,
      }),
    );
  }
  if (openedBy === undefined && capability.status === 'approved' && isByPolicy(capability)) {
    return moved(
      capability,
      await moveStatus(tx, capability, { to: 'blocked', actor: gate, reason: 'policy_no_longer_opens' }),
    );
  }
  return capability;
}

async function findDefinition(tx: Tx, definition: CapabilityDefinition): Promise<Capability | undefined> {
  let query = tx.db
    .selectFrom('capability')
    .selectAll()
    .where('type', '=', definition.type)
    .where('server', '=', definition.server)
    .where('name', '=', definition.name)
    .where('version', '=', definition.version);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  return row && capabilityOf(row);
}

async function createCapability(
  tx: Tx,
  definition: CapabilityDefinition,
  openedBy: string | undefined,
): Promise<Capability> {
  const now = await graceNow(tx);
  // Held first: whoever makes another version at the same time has committed it by now, or waits for ours.
  const graceEndsAt = await holdGrace(tx, definition, now);
  const earlier = await supersedeEarlier(tx, definition);
  const tier = earlier.reduce((highest, one) => higherTier(highest, one.tier) as RecordedTier, definition.tier);
  const status = firstStatus(tier, now < graceEndsAt, earlier, openedBy);
  const id = newShortId<CapabilityId>();
  const inserted = await tx.db
    .insertInto('capability')
    .values({
      id,
      type: definition.type,
      name: definition.name,
      server: definition.server,
      server_label: definition.serverLabel,
      version: definition.version,
      definition_hash: definition.definitionHash,
      definition: definition.definition ?? null,
      risk_tier: tier,
      status,
      created_at: tx.now,
      expires_at: status === 'provisional' ? graceEndsAt : null,
      exec_count: 0,
      refused_count: 0,
      commit_link: definition.commitLink ?? null,
      doc_link: definition.docLink ?? null,
      decided_by: status === 'approved' ? (openedBy ?? null) : null,
      decided_at: status === 'approved' ? tx.now : null,
      decision_note: null,
      first_exec_alerted_at: null,
      reminder_sent_at: null,
    })
    .onConflict((conflict) => conflict.columns(['type', 'server', 'name', 'version']).doNothing())
    .returningAll()
    .executeTakeFirst();
  // Another node was first (G-12): its record is the one.
  if (!inserted) return ensureCapability(tx, definition, openedBy);
  await tx.emit({
    kind: 'capability.created',
    actor: gate,
    subject: { kind: 'capability', id },
    facts: {
      type: definition.type,
      tier,
      status,
      version: definition.version,
      expires_at: inserted.expires_at,
      opened_by: openedBy ?? null,
    },
  });
  return capabilityOf(inserted);
}

/** Privileged and refused lineages begin blocked, reversible ones in what is left of their grace (G-5, G-7, decision 6). */
function firstStatus(
  tier: RecordedTier,
  isInGrace: boolean,
  earlier: readonly Capability[],
  openedBy: string | undefined,
): CapabilityStatus {
  if (earlier.some((one) => one.status === 'refused')) return 'blocked';
  if (openedBy !== undefined) return 'approved';
  return tier === 'reversible' && isInGrace ? 'provisional' : 'blocked';
}

/** End of the grace of a tool of a server, set when it is seen for the first time and never again; held until the transaction ends. */
async function holdGrace(tx: Tx, definition: CapabilityDefinition, now: number): Promise<number> {
  const { type, server, name } = definition;
  await tx.db
    .insertInto('capability_lineage')
    .values({ type, server, name, grace_ends_at: now + graceMs })
    .onConflict((conflict) => conflict.columns(['type', 'server', 'name']).doNothing())
    .execute();
  let query = tx.db
    .selectFrom('capability_lineage')
    .select('grace_ends_at')
    .where('type', '=', type)
    .where('server', '=', server)
    .where('name', '=', name);
  if (tx.dialect === 'postgres') query = query.forUpdate();
  return (await query.executeTakeFirstOrThrow()).grace_ends_at;
}

/** The other definitions of the same tool; those that could run may no longer, and open approvals are void (decision 3). */
async function supersedeEarlier(tx: Tx, definition: CapabilityDefinition): Promise<Capability[]> {
  const rows = await tx.db
    .selectFrom('capability')
    .select('id')
    .where('type', '=', definition.type)
    .where('server', '=', definition.server)
    .where('name', '=', definition.name)
    // Another node may have made this very one since we looked for it: that is no earlier one (G-12).
    .where('version', '!=', definition.version)
    .orderBy('id')
    .execute();
  const earlier: Capability[] = [];
  for (const { id } of rows) {
    const one = await holdCapability(tx, id);
    if (!one) continue;
    earlier.push(one);
    if (one.status !== 'approved' && one.status !== 'provisional') continue;
    await moveStatus(tx, one, { to: 'blocked', actor: gate, reason: 'definition_changed' });
    await tx.emit({
      kind: 'capability.superseded',
      actor: gate,
      subject: { kind: 'capability', id },
      facts: { version: one.version, by: definition.version },
    });
  }
  for (const one of earlier) await voidCalls(tx, { capabilityId: one.id, reason: 'definition_changed' });
  return earlier;
}

function isByPolicy(capability: Capability): boolean {
  return /^(?:preset|rule):/.test(capability.decidedBy ?? '');
}

function moved(before: Capability, after: Awaited<ReturnType<typeof moveStatus>>): Capability {
  if ('ok' in after) throw new Error(`capability ${before.id} could not leave ${before.status}`);
  return after;
}
